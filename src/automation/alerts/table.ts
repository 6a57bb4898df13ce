import { index, integer, real, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Alerts on the runs of a project. Times are milliseconds. */
export const alerts = sqliteTable(
  "alerts",
  {
    id: text("id").primaryKey(),
    workspaceId: text("workspace_id").notNull(),
    projectId: text("project_id").notNull(),
    name: text("name").notNull(),
    filter: text("filter"),
    isEnabled: integer("is_enabled", { mode: "boolean" }).notNull(),
    condition: text("condition", { mode: "json" }).$type<AlertCondition>().notNull(),
    channels: text("channels", { mode: "json" }).$type<AlertChannel[]>().notNull(),
    /** Headers of webhooks, keys of providers and addresses of Slack, by the number of the channel, sealed. Null: there are none. */
    secrets: text("secrets"),
    state: text("state").$type<AlertState>().notNull(),
    /** How many evaluations in a row have contradicted the state. */
    streak: integer("streak").notNull(),
    /** The last figure; null without enough runs. */
    value: real("value"),
    /** Why the last evaluation failed. */
    error: text("error"),
    changedAt: integer("changed_at").notNull(),
    evaluatedAt: integer("evaluated_at").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    index("alerts_workspace").on(table.workspaceId, table.createdAt),
    index("alerts_due").on(table.isEnabled, table.evaluatedAt),
  ],
);

/** `resolved`: no longer firing. It is as `ok`, and says that it has fired. */
export type AlertState = "ok" | "firing" | "resolved";

export interface AlertCondition {
  metric: "error_rate" | "latency" | "cost" | "tokens" | "feedback_score" | "run_count";
  /** Of `latency`: the share of the runs that are not slower, such as 0.95. */
  percentile: number;
  /** Of `feedback_score`. */
  feedbackKey: string | null;
  operator: "gt" | "gte" | "lt" | "lte";
  threshold: number;
  windowMinutes: number;
  /** With fewer runs (of `feedback_score`: scores) in the window there is no figure. */
  minRuns: number;
  /** How many evaluations in a row make it fire, and resolve it. */
  fireAfter: number;
  resolveAfter: number;
}

/** `id`: it stays as long as the receiver is the same. */
export type AlertChannel = { id: string } & (
  | { type: "webhook"; url: string }
  /** The address as it is shown: who knows it can write to the channel. */
  | { type: "slack"; url: string }
  | { type: "email"; provider: "resend" | "postmark" | "sendgrid"; from: string; to: string[] }
);

/** A change of an alert, with the alert as it was then: what its channels are told of. */
export interface AlertNotice {
  from: AlertState;
  to: AlertState | "test";
  value: number | null;
  at: number;
  name: string;
  projectId: string;
  filter: string | null;
  condition: AlertCondition;
}
