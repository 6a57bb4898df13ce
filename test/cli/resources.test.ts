import { describe, expect, test } from "vitest";
import { type WorkerResources, nameResources } from "../../src/cli/project/generate.ts";

const kinds = ["databases", "buckets", "queues", "rateLimits"] as const;
const listNames = (resources: WorkerResources) =>
  kinds.flatMap((kind) => Object.values(resources[kind]).map((name) => `${kind} ${name}`));

describe("names of a deployment's resources", () => {
  test("the names of the deployment weir are those of wrangler.toml", () => {
    expect(nameResources("weir")).toMatchObject({
      worker: "weir",
      databases: { DB: "weir" },
      buckets: { BLOBS: "weir-blobs", EXPORTS_BUCKET: "weir-exports" },
      queues: { EXPORTS: "weir-exports", CRON_QUEUE: "weir-crons", RULES: "weir-rules" },
    });
  });

  test("several deployments and environments in one account share nothing", () => {
    const all = [
      nameResources("weir"),
      nameResources("weir", "staging"),
      nameResources("weir", "production"),
      nameResources("weir-exports"),
      nameResources("weir-crons"),
      nameResources("other", "staging"),
    ].flatMap(listNames);
    expect(new Set(all).size).toBe(all.length);
  });

  test("a rate limit's id is a positive integer that stays the same", () => {
    const { rateLimits } = nameResources("agent", "staging");
    for (const id of Object.values(rateLimits)) expect(id).toMatch(/^[1-9][0-9]{0,9}$/);
    expect(nameResources("agent", "staging").rateLimits).toEqual(rateLimits);
  });

  test.each(["My_Agent", "-agent", "agent-", "@scope/agent", ""])("%j is refused with what to do", (name) => {
    expect(() => nameResources(name)).toThrow(/cannot name a deployment: use lower-case letters.*Set "name"/);
  });

  test("a name that leaves no room for a suffix is refused", () => {
    expect(nameResources("a".repeat(55)).buckets.EXPORTS_BUCKET).toHaveLength(63);
    expect(() => nameResources("a".repeat(50), "staging")).toThrow(/58 characters, and the most is 55/);
  });
});
