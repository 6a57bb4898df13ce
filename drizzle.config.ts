import type { Config } from "drizzle-kit";

export default {
  dialect: "sqlite",
  schema: "./src/**/table.ts",
  out: "./migrations",
} satisfies Config;
