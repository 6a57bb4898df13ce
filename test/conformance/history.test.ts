/** The history checker (tools/history) against the demo graphs: it finds no violation, and detects a server with faults. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { detectFeatures, runRound, findViolations } from "../../tools/history/check.ts";
import { type Options, readOptions } from "../../tools/history/options.ts";
import { countOutcomes, describe as describeViolation } from "../../tools/history/report.ts";
import { type Proxy, startProxy } from "../support/proxy.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { ALL, chooseAmount } from "../support/thorough.ts";
import { itThorough } from "../support/thorough-test.ts";

const SEED = Number(process.env.SEED ?? 1);
const SECONDS = chooseAmount("SECONDS", ALL ? 5 : 2, 60);

let proxy: Proxy;
let server: TestServer;
let options: Options;
beforeAll(async () => {
  proxy = await startProxy();
  server = await sharedServer();
  proxy.target = server.url;
  const args = ["--url", proxy.url, "--key", server.key, "--seconds", String(SECONDS), "--round", "15"];
  options = readOptions([...args, "--seed", String(SEED), "--threads", "3"]);
});
afterEach(() => {
  proxy.meddle = () => undefined;
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

describe(`in ${SECONDS} seconds of seed ${SEED}`, { timeout: 240_000 + SECONDS * 10_000 }, () => {
  it("breaks no rule", async () => {
    const features = await detectFeatures(options);
    expect(features).toMatchObject({ weir: true, strictResume: true, protocol: true });
    const history = await runRound(options, features, SEED);
    const violations = findViolations(history);
    expect(violations.map((violation) => describeViolation(violation, history))).toEqual([]);
    const counts = countOutcomes([history]);
    for (const kind of ["read", "run", "runs", "state", "start: message, stream"])
      expect([kind, counts[kind]?.ok]).not.toEqual([kind, 0]);
  });

  itThorough("detects a server that hides runs and whose searches are out of date", async () => {
    let reads = 0;
    proxy.meddle = ({ url = "", method }) => {
      if (url === "/threads/search") return { status: 200, body: "[]" };
      if (method !== "GET" || !/\/runs\/[\w-]+$/.test(url)) return undefined;
      reads += 1;
      return reads % 3 === 0 ? { status: 404, body: "{}" } : undefined;
    };
    const history = await runRound({ ...options, searchBound: 500 }, await detectFeatures(options), SEED);
    const rules = new Set(findViolations(history).map(({ rule }) => rule));
    expect([...rules]).toEqual(expect.arrayContaining(["searches-agree", "runs-are-listed"]));
  });
});

describe("the options", () => {
  it("have an assistant for each role", () => {
    expect(readOptions(["--url", "http://a.example/", "--assistant", "echo,approval=mine"])).toMatchObject({
      address: { url: "http://a.example", headers: {} },
      assistants: { echo: "echo", approval: "mine" },
      seconds: 60,
    });
  });

  it("add headers", () => {
    const { address } = readOptions(["--url", "http://a.example", "--key", "k", "--header", "X-Tenant-Id: t: 1"]);
    expect(address.headers).toEqual({ "x-api-key": "k", "x-tenant-id": "t: 1" });
  });

  it.each([
    ["--url takes", []],
    ["--seconds takes", ["--url", "http://a.example", "--seconds", "0"]],
    ["--header takes", ["--url", "http://a.example", "--header", "no colon"]],
    ["--assistant takes", ["--url", "http://a.example", "--assistant", "chat"]],
  ])("are refused: %s", (message, args) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});
