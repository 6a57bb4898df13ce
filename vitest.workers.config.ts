import { builtinModules } from "node:module";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { ALL, POLL_MS } from "./test/support/thorough.ts";

/** The environment variables that decide what the tests try, and how they report it. */
const SETTINGS = [
  "SEED",
  "SOAK",
  "ALL_TESTS",
  "SEQUENCES",
  "EXPORT_MATRIX",
  "FLOW_KEYS",
  "FLOW_MS",
  "FLOW_RUNS",
  "OPERATIONS",
  "CASES",
  "ONLY",
  "STEPS",
  "PROGRAM",
  "SHRINK",
  "LOUD",
];

const pick = (names: string[]) =>
  Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));

/**
 * Files with an isolate of their own: the fault test, tests of what all share (the users of the deployment, its graphs, whole
 * tables), and tests that fake `setTimeout`, which objects of earlier files still use.
 */
const ALONE = [
  "test/chaos/chaos.test.ts",
  "test/security/a-burst-does-not-delay-others.test.ts",
  "test/access/{oauth/cleanup,users/users}.slow.test.ts",
  "test/deliveries/own-app.slow.test.ts",
  "test/exports/ledger/lease.slow.test.ts",
  "test/http/{loopback,sse}.slow.test.ts",
  "test/threads/resume.slow.test.ts",
  // Its applications would answer what other tests ask of the server itself.
  "test/config.slow.test.ts",
  // The minute of other tests chains entries too.
  "test/access/audit/chain.slow.test.ts",
];

const ORACLE = "test/oracle/**/*.test.ts";

/**
 * In the fault test objects restart more often than a deployment restarts, so a run may meet several restarts at one node. The
 * clock is set forwards by hours while runs work.
 */
const PATIENT = { RUN_MAX_ATTEMPTS: "100", RUN_TIMEOUT_SECONDS: "8640000" };

/**
 * All modules reach a test's isolate in one WebSocket message, of which workerd takes 32 MiB. Without the source maps of
 * packages it is half as large.
 */
const withoutMapsOfPackages = {
  name: "without-maps-of-packages",
  transform: (code: string, id: string) =>
    id.includes("/node_modules/") ? { code, map: { mappings: "" as const } } : undefined,
};

/** Packages of many small modules: an isolate loads 1,000 of 2,000 modules less when each is one file. */
const BUNDLED = {
  enabled: true,
  include: [
    "@langchain/core/**",
    "@langchain/langgraph",
    "@langchain/langgraph/channels",
    "@langchain/langgraph/prebuilt",
    "@langchain/langgraph/zod",
    "@langchain/langgraph/zod/schema",
    "@langchain/langgraph-checkpoint",
    "@langchain/openai",
    "drizzle-orm",
    "drizzle-orm/d1",
    "drizzle-orm/durable-sqlite",
    "drizzle-orm/errors",
    "drizzle-orm/sqlite-core",
    "jose",
    "langsmith",
    "langsmith/evaluation",
    "langsmith/traceable",
    "zod",
  ],
  rolldownOptions: { external: [/^(node|cloudflare):/, ...builtinModules], platform: "neutral" as const },
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
          OIDC_ISSUER: "https://id.example",
          OIDC_CLIENT_ID: "weir",
          REQUEST_LOG_RATE: "0",
          // How a test is run again, and how thorough ones are: `process.env` of the tests holds these bindings.
          ...pick(SETTINGS),
          TEST_MIGRATIONS: migrations,
          ...more,
        },
      },
    });
  const test = {
    deps: { optimizer: { ssr: BUNDLED } },
    setupFiles: ["./test/support/workers-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: POLL_MS } },
  };
  const slow = ALL ? [] : ["test/**/*.slow.test.ts"];
  const nowhere = [
    "test/{cli,compat,docs,conformance,crash,browser,python,upgrade,scripts}/**",
    "node_modules/**",
    ...slow,
  ];
  return {
    test: {
      // More workerd processes than processors: one waits for timers and the disk as often as for the processor.
      maxWorkers: 3,
      projects: [
        {
          plugins: [withoutMapsOfPackages, worker()],
          // One worker for all: loading the application anew takes longer than most files' tests.
          test: {
            ...test,
            name: "together",
            include: ["test/**/*.test.ts"],
            exclude: [...nowhere, ...ALONE, ORACLE],
            isolate: false,
          },
        },
        // They move the clock, restart all objects, and fail calls of D1 and R2.
        {
          plugins: [withoutMapsOfPackages, worker()],
          test: { ...test, name: "oracle", include: [ORACLE], exclude: slow },
        },
        {
          plugins: [withoutMapsOfPackages, worker(PATIENT)],
          test: { ...test, name: "alone", include: ALONE, exclude: slow },
        },
      ],
    },
  };
});
