import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const pick = (names: string[]) =>
  Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));

export default defineConfig(async () => ({
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: {
        bindings: {
          ENCRYPTION_KEY: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
          WEIR_ADMIN_KEY: "admin-key-of-the-tests",
          AUTH: "",
          // How a test is run again, and how thorough ones are: `process.env` of the tests holds these bindings.
          ...pick(["SEED", "SEQUENCES", "EXPORT_MATRIX"]),
          TEST_MIGRATIONS: await readD1Migrations("./migrations"),
        },
      },
    }),
  ],
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/{conformance,crash,browser,bench}/**", "node_modules/**"],
    setupFiles: ["./test/support/workers-setup.ts"],
    testTimeout: 30_000,
  },
}));
