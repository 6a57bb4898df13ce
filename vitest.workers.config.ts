import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { SETTINGS } from "./scripts/tests/stamp.ts";

const pick = (names: string[]) =>
  Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));

/** Tests that change what all share (the registry of graphs, due work of every workspace, whole tables). */
const ALONE = [
  "test/users/**/*.test.ts",
  "test/config/settings.test.ts",
  "test/security/{a-burst,a-user,users}-*.test.ts",
  "test/crons/{fire,routes}.test.ts",
  "test/graphs/made.test.ts",
  "test/loopback/loopback.test.ts",
  "test/a2a/authors.test.ts",
  "test/exports/{engine,exactly-once,lease,schedule}.test.ts",
  "test/mcp/tools.test.ts",
  "test/threads/{first-byte,resume}.test.ts",
  "test/http/sse.test.ts",
  "test/oauth/cleanup.test.ts",
  "test/system/{metrics,minute}.test.ts",
];

/**
 * Objects restart more often there than a deployment restarts, so a run may meet several restarts at one node. The clock
 * is set forwards by hours while runs work.
 */
const CHAOS = ["test/chaos/**/*.test.ts"];

/**
 * All modules reach a test's isolate in one WebSocket message, of which workerd takes 32 MiB. Without the source maps of
 * packages it is half as large.
 */
const withoutMapsOfPackages = {
  name: "without-maps-of-packages",
  transform: (code: string, id: string) =>
    id.includes("/node_modules/") ? { code, map: { mappings: "" as const } } : undefined,
};

export default defineConfig(async () => {
  const migrations = await readD1Migrations("./migrations");
  const worker = (more: Record<string, string> = {}) =>
    cloudflareTest({
      main: "./test/edge-limits/worker.ts",
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: {
        durableObjects: { PROBE: { className: "Probe", useSQLite: true } },
        bindings: {
          ENCRYPTION_KEY: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
          WEIR_ADMIN_KEY: "admin-key-of-the-tests",
          AUTH: "",
          // How a test is run again, and how thorough ones are: `process.env` of the tests holds these bindings.
          ...pick(SETTINGS),
          TEST_MIGRATIONS: migrations,
          ...more,
        },
      },
    });
  const test = { setupFiles: ["./test/support/workers-setup.ts"], testTimeout: 60_000 };
  const nowhere = [
    "test/{cli,compat,docs,conformance,crash,browser,bench,upgrade,smoke,fuzz,scripts,soak}/**",
    "node_modules/**",
  ];
  return {
    test: {
      // Two workerd processes: one waits for timers and the disk as often as for the processor.
      maxWorkers: 2,
      projects: [
        {
          plugins: [withoutMapsOfPackages, worker()],
          // One worker for all: loading the application anew takes longer than most files' tests.
          test: {
            ...test,
            name: "together",
            include: ["test/**/*.test.ts"],
            exclude: [...nowhere, ...ALONE, ...CHAOS],
            isolate: false,
          },
        },
        { plugins: [withoutMapsOfPackages, worker()], test: { ...test, name: "alone", include: ALONE } },
        {
          plugins: [withoutMapsOfPackages, worker({ RUN_MAX_ATTEMPTS: "100", RUN_TIMEOUT_SECONDS: "8640000" })],
          test: { ...test, name: "chaos", include: CHAOS },
        },
      ],
    },
  };
});
