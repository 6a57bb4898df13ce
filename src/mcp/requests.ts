/**
 * An interrupt that is a request of the protocol: a form of the graph's own, a completion by the client's model, or the client's roots.
 * The graph continues with the form's content, or with the result of the request.
 */
import type { InputRequest } from "@modelcontextprotocol/server";
import * as v from "valibot";
import { AnyObject } from "../http/shapes.ts";

/** The key of the request. A graph that gives none gets the id of its interrupt. */
const name = v.optional(v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/)));

const OwnRequest = v.variant("method", [
  v.object({
    method: v.literal("elicitation/create"),
    name,
    params: v.looseObject({ message: v.string(), requestedSchema: AnyObject }),
  }),
  v.object({
    method: v.literal("sampling/createMessage"),
    name,
    params: v.looseObject({ messages: v.array(AnyObject), maxTokens: v.number() }),
  }),
  v.object({ method: v.literal("roots/list"), name, params: v.optional(AnyObject, {}) }),
]);
export type OwnRequest = v.InferOutput<typeof OwnRequest>;

/** Undefined for every other value, which is a question in words. */
export function ownRequest(value: unknown): OwnRequest | undefined {
  const parsed = v.safeParse(OwnRequest, value);
  return parsed.success ? parsed.output : undefined;
}

/** The request on the wire. */
export const toInput = ({ method, params }: OwnRequest): InputRequest =>
  ({ method, params }) as unknown as InputRequest;
