/** What callers send, in both generations: read leniently, into the nouns of types.ts. */
import * as v from "valibot";
import { optional } from "../../http/shapes.ts";
import { isObject, JsonMembers } from "../../lib/json.ts";
import { type A2aMessage, type A2aPart, STATES } from "./types.ts";

export const CONTEXT_LENGTH = 1_000;
const PARTS = 1_000;

/** Members in camelCase; ProtoJSON lets callers write snake_case, too. Only the object's own members, not what is inside. */
function camel(value: unknown): unknown {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(
    ([key, member]) => [key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), member] as const,
  );
  return Object.fromEntries(entries);
}

const object = <E extends v.ObjectEntries>(entries: E) => v.pipe(v.unknown(), v.transform(camel), v.object(entries));

/** ProtoJSON's default: an empty string is one that is left out. */
const text = (most: number) => optional(v.pipe(v.string(), v.maxLength(most)));
const Id = v.pipe(v.string(), v.minLength(1), v.maxLength(CONTEXT_LENGTH));
const Strings = optional(v.array(v.string()));
const Url = v.pipe(v.string(), v.maxLength(8_000), v.url());
const Base64 = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9+/_-]*={0,2}$/, "must be base64"),
  v.transform((given) => given.replaceAll("-", "+").replaceAll("_", "/")),
);

/** A file as 0.3 has it. */
const File = object({ bytes: optional(Base64), uri: optional(Url), name: text(1_000), mimeType: text(200) });

const AnyPart = v.pipe(
  object({
    kind: optional(v.string()),
    text: optional(v.string()),
    raw: optional(Base64),
    url: optional(Url),
    data: v.optional(v.unknown()),
    file: optional(File),
    filename: text(1_000),
    mediaType: text(200),
    metadata: optional(JsonMembers),
  }),
  // Null alone is data. With a text or a file, null means that the member is absent.
  v.transform(({ data, ...part }) => {
    const bare = [part.text, part.raw, part.url, part.file].every((one) => one === undefined);
    return { ...part, data: data === null && !bare ? undefined : data };
  }),
  v.check(
    (part) => [part.text, part.raw, part.url, part.data, part.file].filter((one) => one !== undefined).length === 1,
    "must hold exactly one of: text, a file, data",
  ),
  v.check(
    ({ kind, text, file, data }) =>
      kind === undefined ||
      (kind === "text" && text !== undefined) ||
      (kind === "file" && file !== undefined) ||
      (kind === "data" && data !== undefined),
    "must hold what its kind says: text, file or data",
  ),
  v.check(
    ({ file }) => file === undefined || (file.bytes === undefined) !== (file.uri === undefined),
    "must have a file with either bytes or uri",
  ),
  v.transform(({ kind: _kind, file, ...part }): A2aPart => {
    const given = file ? { raw: file.bytes, url: file.uri, filename: file.name, mediaType: file.mimeType } : part;
    const all = { ...given, metadata: part.metadata };
    // An empty text or file is one; an empty name is none.
    const isSet = (name: string, value: unknown) => value !== "" || name === "text" || name === "raw";
    return Object.fromEntries(Object.entries(all).filter(([name, value]) => value !== undefined && isSet(name, value)));
  }),
);

const AnyMessage = v.pipe(
  object({
    messageId: Id,
    role: v.picklist(["user", "ROLE_USER"]),
    parts: v.pipe(v.array(AnyPart), v.minLength(1, "must hold at least one part"), v.maxLength(PARTS)),
    contextId: text(CONTEXT_LENGTH),
    taskId: text(CONTEXT_LENGTH),
    referenceTaskIds: Strings,
    extensions: Strings,
    metadata: optional(JsonMembers),
  }),
  v.transform(({ contextId, taskId, ...message }): A2aMessage => {
    const all = { ...message, role: "user" as const, contextId: contextId || undefined, taskId: taskId || undefined };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as unknown as A2aMessage;
  }),
);

const HistoryLength = optional(v.pipe(v.number(), v.integer(), v.minValue(0)));

/** A value that is sent unchanged in a header. */
const Secret = optional(v.pipe(v.string(), v.maxLength(8_000), v.regex(/^[ -~]*$/, "must be one line of ASCII")));
const Scheme = v.pipe(v.string(), v.regex(/^[\w!#$%&'*+.^`|~-]{0,100}$/, "must be the name of an HTTP scheme"));

/** Both generations' shapes at once: 0.3 has `schemes`, 1.0 `scheme`. */
const Authentication = object({ schemes: optional(v.array(Scheme)), scheme: optional(Scheme), credentials: Secret });

const PushEntries = {
  id: text(200),
  url: Url,
  token: Secret,
  authentication: optional(Authentication),
};

const toPush = ({ id, url, token, authentication }: v.InferOutput<ReturnType<typeof pushObject>>) => {
  const scheme = authentication?.scheme || authentication?.schemes?.[0];
  return {
    id: id || undefined,
    url,
    token: token || undefined,
    authentication: scheme ? { scheme, credentials: authentication?.credentials || undefined } : undefined,
  };
};
const pushObject = () => object(PushEntries);
const Push = v.pipe(pushObject(), v.transform(toPush));

const ConfigurationSchema = v.pipe(
  object({
    blocking: optional(v.boolean()),
    returnImmediately: optional(v.boolean()),
    acceptedOutputModes: Strings,
    historyLength: HistoryLength,
    pushNotificationConfig: optional(Push),
    taskPushNotificationConfig: optional(Push),
  }),
  v.transform((given) => ({
    blocking: given.blocking ?? !(given.returnImmediately ?? false),
    acceptedOutputModes: given.acceptedOutputModes ?? [],
    historyLength: given.historyLength,
    push: given.taskPushNotificationConfig ?? given.pushNotificationConfig,
  })),
);

export const Send = object({
  message: AnyMessage,
  configuration: v.nullish(ConfigurationSchema, {}),
  metadata: optional(JsonMembers),
});
export type Send = v.InferOutput<typeof Send>;

/** 0.3 distinguishes parts by `kind` only, so each must have one. */
export const Kinds = v.object({ message: v.object({ parts: v.array(v.object({ kind: v.string() })) }) });

export const TaskQuery = object({ id: Id, contextId: text(CONTEXT_LENGTH), historyLength: HistoryLength });
export type TaskQuery = v.InferOutput<typeof TaskQuery>;

const StateName = v.pipe(
  v.string(),
  v.transform((name) =>
    name
      .replace(/^TASK_STATE_/, "")
      .toLowerCase()
      .replaceAll("_", "-"),
  ),
  v.picklist(STATES, "must be the name of a task state"),
);

export const List = object({
  contextId: text(CONTEXT_LENGTH),
  status: optional(
    v.union([
      v.pipe(
        v.literal("TASK_STATE_UNSPECIFIED"),
        v.transform(() => undefined),
      ),
      StateName,
    ]),
  ),
  pageSize: optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100))),
  pageToken: text(200),
  historyLength: HistoryLength,
  statusTimestampAfter: optional(
    v.pipe(
      v.string(),
      v.check((time) => !Number.isNaN(Date.parse(time)), "must be an ISO 8601 time"),
    ),
  ),
  includeArtifacts: optional(v.boolean()),
});
export type List = v.InferOutput<typeof List>;

/** 0.3: `{taskId, pushNotificationConfig}`; 1.0: one flat object. */
export const SetPush = v.union([
  v.pipe(
    object({ taskId: Id, pushNotificationConfig: Push }),
    v.transform(({ taskId, pushNotificationConfig }) => ({ taskId, config: pushNotificationConfig })),
  ),
  v.pipe(
    object({ taskId: Id, ...PushEntries }),
    v.transform(({ taskId, ...config }) => ({ taskId, config: toPush(config) })),
  ),
]);

/** 0.3: `id` is the task's and `pushNotificationConfigId` the configuration's; 1.0: `taskId` and `id`. */
export const PushQuery = v.pipe(
  object({ id: text(CONTEXT_LENGTH), taskId: text(CONTEXT_LENGTH), pushNotificationConfigId: text(200) }),
  v.transform(({ id, taskId, pushNotificationConfigId }) =>
    taskId ? { taskId, id } : { taskId: id, id: pushNotificationConfigId },
  ),
  v.object({ taskId: Id, id: v.optional(v.string()) }),
);

/** The envelope. `metadata.thread_id` groups the traces of several agents in one thread. */
export const Envelope = v.object({
  jsonrpc: v.literal("2.0"),
  id: v.union([v.string(), v.pipe(v.number(), v.safeInteger())]),
  method: v.string(),
  params: v.optional(v.unknown()),
  metadata: optional(v.looseObject({ thread_id: optional(v.pipe(v.string(), v.maxLength(CONTEXT_LENGTH))) })),
});
export type Envelope = v.InferOutput<typeof Envelope>;
