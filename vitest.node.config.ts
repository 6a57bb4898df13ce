import { join } from "node:path";
import { defineConfig } from "vitest/config";
import manifest from "./package.json" with { type: "json" };
import { ALL, POLL_MS, SOAK } from "./test/support/thorough.ts";

const resolve = {
  // What a project's code imports of the package.
  alias: {
    [`${manifest.name}/workers-ai`]: join(import.meta.dirname, "src/agents/models/workers-ai.ts"),
    [`${manifest.name}/offline-model`]: join(import.meta.dirname, "examples/demo/src/offline/model.ts"),
  },
};

/** What writes to `dist`, which the servers of other tests read. */
const ALONE = ["test/cli/package.slow.test.ts", "tools/soak/**/*.test.ts"];

/** What `npm test` leaves to `npm run test:all`, and what this machine cannot run: scripts/test.ts names it. */
const absent = [
  ...(ALL ? [] : ["test/**/*.slow.test.ts"]),
  ...(SOAK ? [] : ["tools/soak/**"]),
  ...(process.env.TEST_EXCLUDE?.split(" ").filter(Boolean) ?? []),
];

const test = {
  setupFiles: ["./test/support/node-setup.ts"],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: POLL_MS } },
};

// More than the processors of a small machine: a file waits for servers and browsers as often as for the processor.
const atTheSameTime = { exclude: [...ALONE, ...absent], maxWorkers: 3 };

export default defineConfig({
  test: {
    globalSetup: ["./test/support/shared-servers.ts"],
    projects: [
      {
        resolve,
        test: {
          ...test,
          ...atTheSameTime,
          name: "node",
          include: ["test/{cli,compat,docs,conformance,crash,upgrade,scripts}/**/*.test.ts"],
        },
      },
      {
        resolve,
        test: {
          ...test,
          ...atTheSameTime,
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          // A machine with other work stops a browser for seconds. `scripts/test.ts` names what passed at the second attempt.
          retry: process.env.CI === "true" ? 1 : 0,
        },
      },
      { resolve, test: { ...test, name: "alone", include: ALONE, exclude: absent, fileParallelism: false } },
      // Needs test/python/setup.sh. `npm run test:python` has it, and `npm run test:node` does not.
      { resolve, test: { ...test, name: "python", include: ["test/python/*.test.ts"], fileParallelism: false } },
    ],
  },
});
