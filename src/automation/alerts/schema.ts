import * as v from "valibot";
import { ReceiverHeaders } from "../../deliveries/receiver.ts";
import { optional, pagingQuery, Uuid } from "../../http/shapes.ts";
import { METRICS, OPERATORS } from "./wire.ts";

const text = (most: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(most));
const whole = (least: number, most: number) => v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
const address = v.pipe(v.string(), v.url("must be a URL"), v.maxLength(2_000));
const email = v.pipe(v.string(), v.email("must be an e-mail address"), v.maxLength(320));

export const Channel = v.variant("type", [
  v.strictObject({ type: v.literal("webhook"), url: address, headers: optional(ReceiverHeaders) }),
  v.strictObject({ type: v.literal("slack"), url: address }),
  v.strictObject({
    type: v.literal("email"),
    provider: v.picklist(["resend", "postmark", "sendgrid"]),
    api_key: text(500),
    from: email,
    to: v.pipe(v.array(email), v.minLength(1), v.maxLength(20)),
  }),
]);

export const AlertBody = v.pipe(
  v.strictObject({
    name: text(200),
    session_id: Uuid,
    filter: optional(v.pipe(v.string(), v.maxLength(10_000))),
    is_enabled: v.optional(v.boolean(), true),
    metric: v.picklist(METRICS),
    percentile: v.optional(v.pipe(v.number(), v.minValue(0.01), v.maxValue(0.999)), 0.95),
    feedback_key: optional(text(180)),
    operator: v.optional(v.picklist(OPERATORS), "gt"),
    threshold: v.pipe(v.number(), v.finite()),
    window_minutes: v.optional(whole(1, 1_440), 5),
    min_runs: v.optional(whole(0, 1_000_000), 1),
    fire_after: v.optional(whole(1, 60), 2),
    resolve_after: v.optional(whole(1, 60), 3),
    channels: v.pipe(v.array(Channel), v.maxLength(10)),
  }),
  v.check(
    ({ metric, feedback_key }) => (metric === "feedback_score") === (feedback_key !== undefined),
    "give feedback_key with the metric feedback_score, and with no other",
  ),
);
export type AlertBody = v.InferOutput<typeof AlertBody>;

export const AlertId = v.object({ alert_id: Uuid });
export const ChangeId = v.object({ alert_id: Uuid, change_id: Uuid });
export const Paging = v.strictObject(pagingQuery(100));
