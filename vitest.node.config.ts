import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    // What a project's code imports of the package.
    alias: {
      "weir/workers-ai": join(import.meta.dirname, "src/models/workers-ai.ts"),
      "weir/offline-model": join(import.meta.dirname, "examples/demo/src/offline/model.ts"),
    },
  },
  test: {
    include: ["test/{cli,compat,docs,conformance,crash,browser,upgrade,smoke,fuzz,scripts}/**/*.test.ts"],
    // What this machine cannot run: scripts/test.ts names it.
    exclude: process.env.TEST_EXCLUDE?.split(" ").filter(Boolean) ?? [],
    setupFiles: ["./test/support/node-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // The tests start real servers: two cores carry one file at a time.
    fileParallelism: false,
  },
});
