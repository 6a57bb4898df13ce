/** `weir deploy` against a stand-in of Cloudflare's API, with the real Wrangler. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { packagedMigrations } from "../../src/cli/project/package.ts";
import { addressIn, release } from "../../src/cli/deploy/release.ts";
import { ACCOUNT, type CloudflareApi, startCloudflareApi, TOKEN } from "./support/cloudflare-api.ts";
import { pickCases } from "../support/thorough.ts";
import { type Deployed, deployedWorkers } from "./support/deployed.ts";
import { type BuiltProject, createBuiltProject, MIGRATIONS } from "./support/project.ts";
import { itThorough } from "../support/thorough-test.ts";

let api: CloudflareApi;
let deployed: Deployed;
const projects: BuiltProject[] = [];
const VARIABLES = ["CLOUDFLARE_API_BASE_URL", "CLOUDFLARE_API_TOKEN", "CLOUDFLARE_ACCOUNT_ID"] as const;

beforeEach(async () => {
  api = await startCloudflareApi();
  deployed = deployedWorkers(api);
  Object.assign(process.env, {
    CLOUDFLARE_API_BASE_URL: api.url,
    CLOUDFLARE_API_TOKEN: TOKEN,
    CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
  });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const project of projects.splice(0)) project.remove();
  await api.close();
});

function project(name: string, env?: string): BuiltProject {
  const made = createBuiltProject(name, env);
  projects.push(made);
  return made;
}

/** Deploys, and gives what was said. */
async function deploy(built: BuiltProject, options: { dryRun?: boolean; secrets?: Record<string, string> } = {}) {
  const lines: string[] = [];
  const url = await release({ ...built, ...options, fetch: deployed.fetch, say: (line) => lines.push(line) });
  return { url, said: lines.join("\n") };
}
const changes = () => api.calls.filter((call) => !call.startsWith("GET ") && !call.endsWith("/query"));
const created = () => api.calls.filter((call) => /^POST \/(d1\/database|r2\/buckets|queues)$/.test(call));

describe("a deploy from a bare account", () => {
  test("creates what is missing, migrates, deploys, and shows the first key once", async () => {
    const built = project("agent");
    const first = await deploy(built, { secrets: { OPENAI_API_KEY: "sk-of-the-project", EMPTY: "" } });
    expect(first.url).toBe("https://agent.stand-in.workers.dev");
    expect(api.databases.names()).toEqual(["agent"]);
    expect([...api.buckets.keys()]).toEqual(["agent-blobs", "agent-exports"]);
    expect([...api.queues.keys()]).toEqual(["agent-exports", "agent-crons", "agent-rules"]);
    expect(api.databases.query("agent", "SELECT name FROM d1_migrations ORDER BY id")).toEqual(
      packagedMigrations(MIGRATIONS).map((name) => ({ name })),
    );
    const { secrets, bindings } = api.workers.find("agent");
    expect([...secrets.keys()].sort()).toEqual(["ENCRYPTION_KEY", "OPENAI_API_KEY", "WEIR_ADMIN_KEY"]);
    expect(Buffer.from(secrets.get("ENCRYPTION_KEY") ?? "", "base64")).toHaveLength(32);
    expect(bindings).toContainEqual(expect.objectContaining({ name: "BLOBS", bucket_name: "agent-blobs" }));
    expect(first.said).toContain("weir_key_of_agent.stand-in.workers.dev");
    for (const secret of secrets.values()) expect(first.said).not.toContain(secret);

    const before = Object.fromEntries(secrets);
    api.calls.length = 0;
    const second = await deploy(built, { secrets: { OPENAI_API_KEY: "sk-of-another-machine" } });
    expect(created()).toEqual([]);
    expect(second.said).not.toContain("created");
    expect(second.said).not.toContain("weir_key_of");
    expect(second.said).toMatch(/migrations +0 of \d+/);
    expect(Object.fromEntries(api.workers.find("agent").secrets)).toEqual(before);
    expect(deployed.keys.get("agent.stand-in.workers.dev")).toEqual(["first"]);
  });

  test("leaves the secrets on this machine for its user only, and no other file with them", async () => {
    const built = project("agent");
    await deploy(built);
    const file = join(built.weirDir, "secrets", "agent.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      WEIR_ADMIN_KEY: api.workers.find("agent").secrets.get("WEIR_ADMIN_KEY"),
      url: "https://agent.stand-in.workers.dev",
    });
    expect(readFileSync(join(built.weirDir, "secrets", ".gitignore"), "utf8")).toBe("*\n");
    expect(readdirSync(built.weirDir).filter((name) => name.startsWith("upload-"))).toEqual([]);
  });

  itThorough("two environments share nothing", async () => {
    await deploy(project("agent"));
    await deploy(project("agent", "staging"));
    expect(api.databases.names()).toEqual(["agent", "agent-staging"]);
    expect(api.buckets.size).toBe(4);
    expect(api.queues.size).toBe(6);
    const [production, staging] = [api.workers.find("agent"), api.workers.find("agent-staging")];
    expect(production.secrets.get("ENCRYPTION_KEY")).not.toBe(staging.secrets.get("ENCRYPTION_KEY"));
  });
});

describe("a deploy that fails in the middle", () => {
  const steps: [name: string, call: RegExp][] = [
    ["the schedules, after the upload", /^PUT .*\/schedules$/],
    ["a database", /^POST \/d1\/database$/],
    ["the second bucket", /^GET \/r2\/buckets\/agent-exports$/],
    ["a queue", /^POST \/queues$/],
    ["the secrets", /\/secrets$/],
  ];
  test.each(pickCases(steps, 1))("at %s can be run again", async (_, call) => {
    const built = project("agent");
    api.fail(call);
    await expect(deploy(built)).rejects.toThrow(/10013/);
    const secrets = Object.fromEntries(api.workers.all.get("agent")?.secrets ?? []);
    api.fail(undefined);
    const { said } = await deploy(built);
    expect(api.databases.names()).toEqual(["agent"]);
    expect(api.buckets.size).toBe(2);
    expect(api.queues.size).toBe(3);
    expect(Object.fromEntries(api.workers.find("agent").secrets)).toMatchObject(secrets);
    expect(said).toContain("weir_key_of_agent");
  });

  test("without a valid token says so", async () => {
    vi.stubEnv("CLOUDFLARE_API_TOKEN", "not-this-one");
    await expect(deploy(project("agent"))).rejects.toThrow(/refused GET .* status 401. Authentication error/);
  });
});

describe("a dry run", () => {
  test("names every resource that it would create, and changes nothing", async () => {
    const { url, said } = await deploy(project("agent"), { dryRun: true });
    expect(url).toBeUndefined();
    for (const name of ["D1 database  agent ", "R2 bucket    agent-blobs ", "R2 bucket    agent-exports "]) {
      expect(said).toMatch(new RegExp(`${name} +would be created`));
    }
    expect(said).toMatch(/queue +agent-exports +would be created/);
    expect(said).toMatch(/queue +agent-crons +would be created/);
    expect(said).toMatch(/secret +ENCRYPTION_KEY +would be created/);
    expect(said).toMatch(/secret +WEIR_ADMIN_KEY +would be created/);
    expect(said).toMatch(/Worker +agent +would be deployed/);
    expect(changes()).toEqual([]);
  });

  itThorough("of what is deployed names nothing to create", async () => {
    const built = project("agent");
    await deploy(built);
    const { said } = await deploy(built, { dryRun: true });
    expect(said).not.toContain("would be created");
  });

  test("needs no account", async () => {
    const built = project("agent");
    for (const name of VARIABLES) vi.stubEnv(name, undefined);
    vi.stubEnv("XDG_CONFIG_HOME", built.root);
    vi.stubEnv("HOME", built.root);
    const { said } = await deploy(built, { dryRun: true });
    expect(said).toContain("Not logged in to Cloudflare");
    expect(said).toMatch(/queue +agent-crons +would be created/);
    expect(existsSync(join(built.weirDir, "secrets"))).toBe(false);
  });
});

itThorough("a database that is newer than the package stops the deploy before the upload", async () => {
  const built = project("agent");
  await deploy(built);
  api.databases.query("agent", "INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')");
  await expect(deploy(built)).rejects.toThrow(
    /newer than this version of weir: it has 9999_later.sql.*Install the version that made it/,
  );
  expect(api.workers.find("agent").uploads).toBe(1);
});

itThorough("a deploy without the admin key on this machine changes no secret and says what to do", async () => {
  await deploy(project("agent"));
  const before = Object.fromEntries(api.workers.find("agent").secrets);
  const { said } = await deploy(project("agent"));
  expect(said).toContain("set WEIR_ADMIN_KEY");
  expect(Object.fromEntries(api.workers.find("agent").secrets)).toEqual(before);
});

test.each([
  [["https://agent.x.workers.dev", "schedule: * * * * *"], {}, "https://agent.x.workers.dev"],
  [["https://agent.x.workers.dev", "agents.example (custom domain)"], {}, "https://agents.example"],
  [["agents.example/*"], { PUBLIC_URL: "https://agents.example/, https://b.example" }, "https://agents.example"],
])("the address of %j is found", (targets, vars, address) => {
  expect(
    addressIn(`{"type":"wrangler-session"}\n${JSON.stringify({ type: "deploy", targets })}\n`, { name: "a", vars }),
  ).toBe(address);
});

test("a Worker without an address says what to set", () => {
  expect(() => addressIn(JSON.stringify({ type: "deploy", targets: ["schedule: *"] }), { name: "agent" })).toThrow(
    /PUBLIC_URL/,
  );
});
