/** Every D1 table, one file a noun. `npm run db:generate` makes the migration. */
export * from "./auth.ts";
export * from "./members.ts";
export * from "./assistants.ts";
export * from "./traces.ts";
export * from "./datasets.ts";
export * from "./oauth.ts";
export * from "./audit.ts";
export * from "./memory.ts";
export * from "./idempotency.ts";
export * from "./threads.ts";
export * from "./crons.ts";
export * from "./exports.ts";
export * from "./a2a.ts";
export * from "./webhooks.ts";
export * from "./encryption.ts";
export * from "./queues.ts";
export * from "./rules.ts";
