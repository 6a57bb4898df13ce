/** Figures, conditions and states of alerts in words. */
import { costText, countText, durationText, scoreText } from "../../ui/format.ts";
import { shareText } from "../../ui/shares.ts";

/** As the API names them (docs/alerts.md). */
export const METRICS = {
  error_rate: "Error rate",
  latency: "Latency",
  cost: "Cost",
  tokens: "Tokens",
  feedback_score: "Feedback score",
  run_count: "Number of runs",
} as const;
export type Metric = keyof typeof METRICS;

export const OPERATORS = { gt: "above", gte: "at or above", lt: "below", lte: "at or below" } as const;
export type Operator = keyof typeof OPERATORS;

/** Kinds of channels. */
export const CHANNELS = { webhook: "Webhook", slack: "Slack", email: "E-mail" } as const;

export type State = "ok" | "firing" | "resolved";

const SIGNS: Record<Operator, string> = { gt: ">", gte: "≥", lt: "<", lte: "≤" };

const METRIC_TEXTS: Record<Metric, (value: number) => string> = {
  error_rate: shareText,
  latency: durationText,
  cost: costText,
  tokens: countText,
  feedback_score: scoreText,
  run_count: countText,
};

export const metricText = (metric: Metric, value: number | null): string =>
  value === null ? "no data" : METRIC_TEXTS[metric](value);

interface Condition {
  metric: Metric;
  percentile: number;
  feedback_key: string | null;
  operator: Operator;
  threshold: number;
}

/** "p95 latency > 2.00 s". */
export function conditionText({ metric, percentile, feedback_key, operator, threshold }: Condition): string {
  const named: Partial<Record<Metric, string>> = {
    latency: `p${Number((percentile * 100).toPrecision(6))} latency`,
    feedback_score: `score of ${feedback_key ?? ""}`,
  };
  return `${named[metric] ?? METRICS[metric].toLowerCase()} ${SIGNS[operator]} ${METRIC_TEXTS[metric](threshold)}`;
}

/** "5 min", "1 h", "1 day". */
export function windowText(minutes: number): string {
  if (minutes % 1_440 === 0) return `${minutes / 1_440} day`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
}

const LOOKS: Record<State, string> = { ok: "success", firing: "error", resolved: "success" };

/** How the state is shown: a paused alert and one without a figure say so, unless it fires. */
export function alertStatus(alert: {
  is_enabled: boolean;
  state: State;
  value: number | null;
  evaluated_at: string | null;
}): { state: string; word: string } {
  if (!alert.is_enabled) return { state: "idle", word: alert.state === "firing" ? "paused, firing" : "paused" };
  if (alert.state === "firing") return { state: LOOKS.firing, word: "firing" };
  if (alert.evaluated_at === null) return { state: "idle", word: "not evaluated" };
  if (alert.value === null) return { state: "idle", word: "no data" };
  return { state: LOOKS[alert.state], word: alert.state };
}

export const stateLook = (state: State): { state: string; word: string } => ({ state: LOOKS[state], word: state });
