/** Shapes of the streaming protocol. Members that are not known are let through: clients of many ages call. */
import * as v from "valibot";
import { pagingQuery, Uuid } from "../../http/shapes.ts";
import { JsonMembers, JsonObject } from "../../lib/json.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER));
const Namespace = v.pipe(v.array(v.pipe(v.string(), v.maxLength(500))), v.maxLength(50));
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
/** What clients without an assistant send: the thread's own, or the deployment's default one. */
export const ANY_ASSISTANT = "_";
const Send = v.object({ node: v.string(), input: v.optional(v.unknown()) });

export const Command = v.object({
  id: count,
  method: v.pipe(v.string(), v.minLength(1), v.maxLength(100)),
  params: v.nullish(JsonObject),
});
export type Command = v.InferOutput<typeof Command>;

/** The filter of a subscription. Channels that do not exist match nothing. */
export const StreamFilter = v.object({
  channels: v.pipe(v.array(v.pipe(v.string(), v.maxLength(200))), v.maxLength(100)),
  namespaces: v.nullish(v.pipe(v.array(Namespace), v.maxLength(500))),
  depth: v.nullish(count),
  since: v.nullish(count),
  since_run: v.nullish(Uuid),
  after_run: v.nullish(Uuid),
  since_event_id: v.nullish(v.pipe(v.string(), v.maxLength(200))),
});
export type StreamFilter = v.InferOutput<typeof StreamFilter>;

/** What starts a run, besides what it is given. Everything else of a run's body is checked by the threads' own schema. */
const runOptions = {
  config: v.nullish(JsonMembers),
  metadata: v.nullish(JsonMembers),
};

export const RunStart = v.object({
  ...runOptions,
  assistant_id: name,
  input: v.optional(v.unknown()),
  context: v.nullish(JsonMembers),
  multitask_strategy: v.nullish(v.string()),
  multitaskStrategy: v.nullish(v.string()),
  langsmith_tracer: v.nullish(JsonObject),
});

const InterruptResponse = v.object({
  namespace: v.nullish(Namespace),
  interrupt_id: name,
  response: v.optional(v.unknown()),
});
export const Respond = v.pipe(
  v.object({
    ...runOptions,
    interrupt_id: v.nullish(name),
    response: v.optional(v.unknown()),
    strict_resume: v.nullish(v.boolean()),
    responses: v.nullish(v.pipe(v.array(InterruptResponse), v.minLength(1), v.maxLength(1_000))),
    update: v.optional(v.unknown()),
    goto: v.nullish(v.union([v.string(), Send, v.array(v.union([v.string(), Send]))])),
  }),
  v.check(
    ({ interrupt_id, responses }) => (interrupt_id == null) !== (responses == null),
    "give either interrupt_id with response, or responses",
  ),
);

export const Inject = v.object({
  namespace: v.nullish(Namespace),
  message: v.object({
    role: v.picklist(["user", "system"]),
    content: v.union([v.string(), v.array(JsonObject)]),
    name: v.nullish(v.string()),
  }),
});

export const StateGet = v.object({ namespace: v.nullish(Namespace), keys: v.nullish(v.array(v.string())) });

export const ListCheckpoints = v.object({
  namespace: v.nullish(Namespace),
  limit: v.nullish(v.pipe(count, v.minValue(1), v.maxValue(1_000)), 20),
  before: v.nullish(Uuid),
});

export const Fork = v.object({
  ...runOptions,
  checkpoint_id: Uuid,
  input: v.optional(v.unknown()),
});

export const GetTree = v.object({ run_id: v.nullish(Uuid) });

export const Unsubscribe = v.object({ subscription_id: name });

/** `POST /api/threads/{id}/state`: makes the thread when there is none. */
export const Bootstrap = v.object({
  values: v.nullish(v.union([JsonObject, v.array(JsonObject)])),
  checkpoint: v.nullish(
    v.object({
      checkpoint_id: v.nullish(Uuid),
      checkpoint_ns: v.nullish(v.string()),
    }),
  ),
  as_node: v.nullish(v.string()),
  assistant_id: v.nullish(name),
});

export const ThreadsQuery = v.object(pagingQuery(1_000));
