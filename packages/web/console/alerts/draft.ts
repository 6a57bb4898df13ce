/** An alert as the form holds it, and the body that the API takes. */
import { readPairs, writePairs } from "../../ui/fields.ts";
import type { Alert, Channel, Provider } from "./queries.ts";
import type { Metric, Operator } from "./labels.ts";

export interface ChannelDraft {
  /** For React. */
  reactKey: string;
  type: Channel["type"];
  url: string;
  /** A name and a value in each line. */
  headers: string;
  provider: Provider;
  apiKey: string;
  from: string;
  /** Addresses, separated by commas. */
  to: string;
}

export interface Draft {
  name: string;
  project: string;
  filter: string;
  metric: Metric;
  /** In percent. */
  percentile: string;
  feedbackKey: string;
  operator: Operator;
  /** An error rate is in percent. */
  threshold: string;
  window: string;
  minRuns: string;
  fireAfter: string;
  resolveAfter: string;
  channels: ChannelDraft[];
}

export const newChannel = (): ChannelDraft => ({
  reactKey: crypto.randomUUID(),
  type: "webhook",
  url: "",
  headers: "",
  provider: "resend",
  apiKey: "",
  from: "",
  to: "",
});

const USUAL: Omit<Draft, "project"> = {
  name: "",
  filter: "eq(is_root, true)",
  metric: "error_rate",
  percentile: "95",
  feedbackKey: "",
  operator: "gt",
  threshold: "5",
  window: "10",
  minRuns: "1",
  fireAfter: "2",
  resolveAfter: "3",
  channels: [],
};

/** Alerts to begin with, by their names in the address: `?example=errors`. */
export const EXAMPLES: Record<string, { title: string; text: string; draft: Partial<Draft> }> = {
  errors: {
    title: "Many runs fail",
    text: "More than 5% of at least 20 traces within 10 minutes.",
    draft: { name: "Many runs fail", minRuns: "20" },
  },
  slow: {
    title: "Answers are slow",
    text: "5% of the traces of 15 minutes take longer than 10 seconds.",
    draft: { name: "Answers are slow", metric: "latency", threshold: "10", window: "15" },
  },
  cost: {
    title: "Costs are high",
    text: "More than $10 in an hour.",
    draft: { name: "More than $10 an hour", metric: "cost", threshold: "10", window: "60" },
  },
  silence: {
    title: "No runs come",
    text: "No trace within 15 minutes.",
    draft: {
      name: "No runs come",
      metric: "run_count",
      operator: "lt",
      threshold: "1",
      window: "15",
      minRuns: "0",
    },
  },
};

export const newDraft = (project: string, example: string | null): Draft => ({
  ...USUAL,
  project,
  ...EXAMPLES[example ?? ""]?.draft,
});

/** 7.000000000000001 is 7. */
const tidy = (value: number) => Number(value.toPrecision(12));

export const toDraft = (alert: Alert): Draft => ({
  name: alert.name,
  project: alert.session_id,
  filter: alert.filter ?? "",
  metric: alert.metric,
  percentile: String(tidy(alert.percentile * 100)),
  feedbackKey: alert.feedback_key ?? "",
  operator: alert.operator,
  threshold: String(alert.metric === "error_rate" ? tidy(alert.threshold * 100) : alert.threshold),
  window: String(alert.window_minutes),
  minRuns: String(alert.min_runs),
  fireAfter: String(alert.fire_after),
  resolveAfter: String(alert.resolve_after),
  channels: alert.channels.map((channel) =>
    channel.type === "email"
      ? {
          ...newChannel(),
          type: "email",
          provider: channel.provider,
          apiKey: channel.api_key ?? "",
          from: channel.from,
          to: channel.to.join(", "),
        }
      : {
          ...newChannel(),
          type: channel.type,
          url: channel.url,
          headers: channel.type === "webhook" ? writePairs(channel.headers) : "",
        },
  ),
});

/** @throws Error whose message names the wrong field */
export function toBody(draft: Draft, isEnabled: boolean): Record<string, unknown> {
  const { metric, filter } = draft;
  if (draft.name.trim() === "") throw new Error("Write a name.");
  if (draft.project === "") throw new Error("Choose a project.");
  const threshold = readNumber("threshold", draft.threshold);
  if (metric === "feedback_score" && draft.feedbackKey.trim() === "") throw new Error("Write the key of the feedback.");
  return {
    name: draft.name.trim(),
    session_id: draft.project,
    is_enabled: isEnabled,
    ...(filter.trim() !== "" && { filter: filter.trim() }),
    metric,
    ...(metric === "latency" && { percentile: tidy(readNumber("percentile", draft.percentile) / 100) }),
    ...(metric === "feedback_score" && { feedback_key: draft.feedbackKey.trim() }),
    operator: draft.operator,
    threshold: metric === "error_rate" ? tidy(threshold / 100) : threshold,
    window_minutes: readNumber("window", draft.window),
    min_runs: readNumber("least number of runs", draft.minRuns),
    fire_after: readNumber("number of evaluations before it fires", draft.fireAfter),
    resolve_after: readNumber("number of evaluations before it resolves", draft.resolveAfter),
    channels: draft.channels.map(writeChannel),
  };
}

function readNumber(what: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new Error(`The ${what} is not a number.`);
  return value;
}

function writeChannel({ type, url, headers, provider, apiKey, from, to }: ChannelDraft): Channel {
  if (type === "email") {
    const addresses = to.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
    if (apiKey.trim() === "" || from.trim() === "" || addresses.length === 0)
      throw new Error("An e-mail needs the provider’s API key, a sender and a receiver.");
    return { type, provider, api_key: apiKey.trim(), from: from.trim(), to: addresses };
  }
  if (url.trim() === "") throw new Error("Write the address of each channel.");
  if (type === "slack") return { type, url: url.trim() };
  return { type, url: url.trim(), headers: readPairs(headers, "Headers") };
}
