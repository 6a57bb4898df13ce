/** Secrets of webhooks on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { Id, Time } from "../http/shapes.ts";

const secret = { id: Id, hint: v.string(), created_at: Time, expires_at: v.nullable(Time) };

export const Secret = v.pipe(v.object(secret), v.title("WebhookSecret"));
export type Secret = v.InferOutput<typeof Secret>;

/** The secret itself is shown once. */
export const NewSecret = v.object({ ...secret, secret: v.string() });
export type NewSecret = v.InferOutput<typeof NewSecret>;
