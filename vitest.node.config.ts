import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/{cli,conformance,crash,browser,upgrade,smoke,fuzz}/**/*.test.ts"],
    setupFiles: ["./test/support/node-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // The tests start real servers: two cores carry one file at a time.
    fileParallelism: false,
  },
});
