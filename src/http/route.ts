import { describeRoute, resolver } from "hono-openapi";
import * as v from "valibot";

type Responses = NonNullable<Parameters<typeof describeRoute>[0]["responses"]>;
type Schema = v.GenericSchema<unknown, unknown>;
interface Body {
  content?: Record<string, { schema: object }>;
}
/** The bodies of a route's answers, by status; `default` is that of its errors where they are no problems. */
type Answers = Partial<Record<number | "default", Schema | Body>>;

/** A body of this media type that is not JSON. */
export const media = (type: string) => ({ content: { [type]: { schema: { type: "string" } } } });

export const json = (schema: Schema) => ({ content: { "application/json": { schema: resolver(schema) } } });

export const eitherBody = (...bodies: Body[]): Body => ({
  content: Object.assign({}, ...bodies.map(({ content }) => content)) as NonNullable<Body["content"]>,
});

/** No body. */
export const NOTHING = { 204: {} };

/** A stream of server-sent events. */
export const EVENTS = { 200: media("text/event-stream") };

/** A protocol on JSON-RPC 2.0: an answer, or a stream of them. Before the protocol is reached, errors are problems. */
const RpcAnswer = v.object({
  jsonrpc: v.literal("2.0"),
  id: v.nullish(v.union([v.string(), v.number()])),
  result: v.optional(v.unknown()),
  error: v.optional(v.object({ code: v.number(), message: v.string(), data: v.optional(v.unknown()) })),
});
export const PROBLEM = {
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
};
export const RPC: Answers = {
  200: eitherBody(json(v.union([RpcAnswer, v.array(RpcAnswer)])), EVENTS[200]),
  default: eitherBody(json(RpcAnswer), PROBLEM),
};

const DESCRIPTIONS: Record<string, string> = {
  101: "Switching protocols",
  202: "Accepted",
  204: "Done",
  302: "A redirect",
  303: "A redirect",
  304: "Not modified",
  default: "The request failed.",
};

/**
 * The description of a route in /openapi.json: its group, what it does, and its answers, which are those with status 200 where one
 * shape is given. The rest comes from its schemas.
 */
export const createDoc = (group: string) => (summary: string, answers?: Schema | Answers) =>
  describeRoute({ tags: [group], summary, ...(answers && { responses: toResponses(answers) }) });

function toResponses(answers: Schema | Answers): Responses {
  const byStatus: Answers = isSchema(answers) ? { 200: answers } : answers;
  const described = Object.entries(byStatus).map(([status, body]) => {
    const { content } = isSchema(body) ? json(body) : (body as Body);
    return [status, { description: DESCRIPTIONS[status] ?? "Success", ...(content && { content }) }] as const;
  });
  return Object.fromEntries(described) as Responses;
}

const isSchema = (given: Schema | object | undefined): given is Schema => given !== undefined && "kind" in given;
