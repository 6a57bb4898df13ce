import { index, integer, primaryKey, real, sqliteTable, text } from "drizzle-orm/sqlite-core";

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

export type AlertChannel =
  | { type: "webhook"; url: string }
  /** The address as it is shown: who knows it can write to the channel. */
  | { type: "slack"; url: string }
  | { type: "email"; provider: "resend" | "postmark" | "sendgrid"; from: string; to: string[] };

/** The changes of alerts, and which channels are still to be notified. */
export const alertEvents = sqliteTable(
  "alert_events",
  {
    alertId: text("alert_id").notNull(),
    at: integer("at").notNull(),
    from: text("from").$type<AlertState>().notNull(),
    to: text("to").$type<AlertState>().notNull(),
    value: real("value"),
    /** The numbers of the channels that are still to be notified. */
    pending: text("pending", { mode: "json" }).$type<number[]>().notNull(),
    attempts: integer("attempts").notNull(),
    /** When the next attempt is due; null when there is none. */
    nextAt: integer("next_at"),
    error: text("error"),
  },
  (table) => [
    primaryKey({ columns: [table.alertId, table.at] }),
    index("alert_events_next").on(table.nextAt),
    index("alert_events_at").on(table.at),
  ],
);
