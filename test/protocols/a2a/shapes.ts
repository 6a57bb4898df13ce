/** The published shapes of both generations, as strict schemas: a member that is not in them is a fault. */
import * as v from "valibot";

const Struct = v.record(v.string(), v.unknown());
const Text = v.pipe(v.string(), v.minLength(1));
const Time = v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/));
const list = <S extends v.GenericSchema>(schema: S) => v.pipe(v.array(schema), v.minLength(1));

/** 1.0: `a2a.proto` by ProtoJSON. */
const meta1 = { filename: v.optional(Text), mediaType: v.optional(Text), metadata: v.optional(Struct) };
const Part1 = v.union([
  v.strictObject({ text: v.string(), ...meta1 }),
  v.strictObject({ raw: v.pipe(v.string(), v.base64()), ...meta1 }),
  v.strictObject({ url: v.pipe(v.string(), v.url()), ...meta1 }),
  v.strictObject({ data: v.unknown(), ...meta1 }),
]);
const Message1 = v.strictObject({
  messageId: Text,
  contextId: v.optional(Text),
  taskId: v.optional(Text),
  role: v.picklist(["ROLE_USER", "ROLE_AGENT"]),
  parts: list(Part1),
  metadata: v.optional(Struct),
  extensions: v.optional(list(v.string())),
  referenceTaskIds: v.optional(list(v.string())),
});
const State1 = v.pipe(
  v.string(),
  v.regex(/^TASK_STATE_(SUBMITTED|WORKING|COMPLETED|FAILED|CANCELED|INPUT_REQUIRED|REJECTED|AUTH_REQUIRED)$/),
);
const Status1 = v.strictObject({ state: State1, message: v.optional(Message1), timestamp: Time });
const Artifact1 = v.strictObject({
  artifactId: Text,
  name: v.optional(Text),
  description: v.optional(Text),
  parts: list(Part1),
  metadata: v.optional(Struct),
  extensions: v.optional(list(v.string())),
});
export const Task1 = v.strictObject({
  id: Text,
  contextId: Text,
  status: Status1,
  artifacts: v.optional(list(Artifact1)),
  history: v.optional(list(Message1)),
  metadata: v.optional(Struct),
});
export const SendResult1 = v.union([v.strictObject({ task: Task1 }), v.strictObject({ message: Message1 })]);
const ids = { taskId: Text, contextId: Text, metadata: v.optional(Struct) };
export const StreamResult1 = v.union([
  v.strictObject({ task: Task1 }),
  v.strictObject({ message: Message1 }),
  v.strictObject({ statusUpdate: v.strictObject({ ...ids, status: Status1 }) }),
  v.strictObject({
    artifactUpdate: v.strictObject({ ...ids, artifact: Artifact1, append: v.boolean(), lastChunk: v.boolean() }),
  }),
]);
export const ListResult1 = v.strictObject({
  tasks: v.array(Task1),
  nextPageToken: v.string(),
  pageSize: v.pipe(v.number(), v.integer()),
  totalSize: v.pipe(v.number(), v.integer()),
});
export const Push1 = v.strictObject({
  taskId: Text,
  id: Text,
  url: Text,
  token: v.optional(Text),
  authentication: v.optional(v.strictObject({ scheme: Text, credentials: v.optional(Text) })),
});

const Flow1 = v.strictObject({
  authorizationUrl: Text,
  tokenUrl: Text,
  refreshUrl: v.optional(Text),
  scopes: v.record(v.string(), v.string()),
  pkceRequired: v.optional(v.boolean()),
});
const Scheme1 = v.union([
  v.strictObject({
    apiKeySecurityScheme: v.strictObject({ description: v.optional(Text), location: Text, name: Text }),
  }),
  v.strictObject({
    oauth2SecurityScheme: v.strictObject({
      description: v.optional(Text),
      flows: v.strictObject({ authorizationCode: Flow1 }),
      oauth2MetadataUrl: v.optional(Text),
    }),
  }),
]);
const Skill = {
  id: Text,
  name: Text,
  description: Text,
  tags: list(Text),
  examples: v.optional(list(Text)),
  inputModes: v.optional(list(Text)),
  outputModes: v.optional(list(Text)),
};
const Signature = v.strictObject({ protected: Text, signature: Text, header: v.optional(Struct) });
export const Card1 = v.strictObject({
  name: Text,
  description: Text,
  version: Text,
  supportedInterfaces: list(
    v.strictObject({
      url: v.pipe(v.string(), v.url()),
      protocolBinding: v.literal("JSONRPC"),
      protocolVersion: v.picklist(["1.0", "0.3"]),
    }),
  ),
  capabilities: v.strictObject({
    streaming: v.boolean(),
    pushNotifications: v.boolean(),
    extendedAgentCard: v.boolean(),
    extensions: v.optional(
      list(
        v.strictObject({
          uri: Text,
          description: v.optional(Text),
          required: v.optional(v.boolean()),
          params: v.optional(v.record(v.string(), v.unknown())),
        }),
      ),
    ),
  }),
  provider: v.optional(v.strictObject({ organization: Text, url: Text })),
  documentationUrl: v.optional(Text),
  iconUrl: v.optional(Text),
  defaultInputModes: list(Text),
  defaultOutputModes: list(Text),
  skills: list(v.strictObject(Skill)),
  securitySchemes: v.record(v.string(), Scheme1),
  securityRequirements: list(
    v.strictObject({ schemes: v.record(v.string(), v.strictObject({ list: v.array(v.string()) })) }),
  ),
  signatures: v.optional(list(Signature)),
});

/** 0.3: `a2a.json`, which the SDK's types.ts is made from. */
const Part03 = v.union([
  v.strictObject({ kind: v.literal("text"), text: v.string(), metadata: v.optional(Struct) }),
  v.strictObject({
    kind: v.literal("file"),
    file: v.union([
      v.strictObject({ bytes: v.string(), name: v.optional(Text), mimeType: v.optional(Text) }),
      v.strictObject({ uri: v.string(), name: v.optional(Text), mimeType: v.optional(Text) }),
    ]),
    metadata: v.optional(Struct),
  }),
  v.strictObject({ kind: v.literal("data"), data: Struct, metadata: v.optional(Struct) }),
]);
const Message03 = v.strictObject({
  kind: v.literal("message"),
  messageId: Text,
  role: v.picklist(["user", "agent"]),
  parts: list(Part03),
  contextId: v.optional(Text),
  taskId: v.optional(Text),
  referenceTaskIds: v.optional(v.array(v.string())),
  extensions: v.optional(v.array(v.string())),
  metadata: v.optional(Struct),
});
const Status03 = v.strictObject({
  state: v.picklist([
    "submitted",
    "working",
    "input-required",
    "completed",
    "canceled",
    "failed",
    "rejected",
    "auth-required",
    "unknown",
  ]),
  message: v.optional(Message03),
  timestamp: Time,
});
const Artifact03 = v.strictObject({
  artifactId: Text,
  name: v.optional(Text),
  description: v.optional(Text),
  parts: list(Part03),
  metadata: v.optional(Struct),
  extensions: v.optional(v.array(v.string())),
});
export const Task03 = v.strictObject({
  kind: v.literal("task"),
  id: Text,
  contextId: Text,
  status: Status03,
  artifacts: v.optional(v.array(Artifact03)),
  history: v.optional(v.array(Message03)),
  metadata: v.optional(Struct),
});
export const SendResult03 = v.union([Task03, Message03]);
export const StreamResult03 = v.union([
  Task03,
  Message03,
  v.strictObject({ kind: v.literal("status-update"), ...ids, status: Status03, final: v.boolean() }),
  v.strictObject({
    kind: v.literal("artifact-update"),
    ...ids,
    artifact: Artifact03,
    append: v.optional(v.boolean()),
    lastChunk: v.optional(v.boolean()),
  }),
]);
export const Push03 = v.strictObject({
  taskId: Text,
  pushNotificationConfig: v.strictObject({
    id: v.optional(Text),
    url: Text,
    token: v.optional(Text),
    authentication: v.optional(v.strictObject({ schemes: list(Text), credentials: v.optional(Text) })),
  }),
});
/** A card of 0.3 may hold more, which its readers ignore. */
export const Card03 = v.object({
  name: Text,
  description: Text,
  url: v.pipe(v.string(), v.url()),
  version: Text,
  protocolVersion: v.literal("0.3.0"),
  preferredTransport: v.literal("JSONRPC"),
  capabilities: v.object({ streaming: v.boolean(), pushNotifications: v.boolean() }),
  defaultInputModes: list(Text),
  defaultOutputModes: list(Text),
  skills: list(v.object(Skill)),
  securitySchemes: v.record(v.string(), v.looseObject({ type: v.picklist(["apiKey", "oauth2"]) })),
  security: list(v.record(v.string(), v.array(v.string()))),
  supportsAuthenticatedExtendedCard: v.boolean(),
});

const Detail = v.union([
  v.strictObject({
    "@type": v.literal("type.googleapis.com/google.rpc.ErrorInfo"),
    reason: Text,
    domain: v.literal("a2a-protocol.org"),
  }),
  v.strictObject({
    "@type": v.literal("type.googleapis.com/google.rpc.BadRequest"),
    fieldViolations: list(v.strictObject({ field: v.string(), description: Text })),
  }),
]);
export const Failure1 = v.strictObject({
  jsonrpc: v.literal("2.0"),
  id: v.union([v.string(), v.number(), v.null()]),
  error: v.strictObject({ code: v.number(), message: Text, data: v.optional(list(Detail)) }),
});
const results: Record<string, v.GenericSchema> = {
  SendMessage: SendResult1,
  SendStreamingMessage: StreamResult1,
  SubscribeToTask: StreamResult1,
  GetTask: Task1,
  CancelTask: Task1,
  ListTasks: ListResult1,
  CreateTaskPushNotificationConfig: Push1,
  GetTaskPushNotificationConfig: Push1,
  ListTaskPushNotificationConfigs: v.strictObject({ configs: v.array(Push1), nextPageToken: v.string() }),
  DeleteTaskPushNotificationConfig: v.strictObject({}),
  GetExtendedAgentCard: Card1,
  "message/send": SendResult03,
  "message/stream": StreamResult03,
  "tasks/resubscribe": StreamResult03,
  "tasks/get": Task03,
  "tasks/cancel": Task03,
  "tasks/pushNotificationConfig/set": Push03,
  "tasks/pushNotificationConfig/get": Push03,
  "tasks/pushNotificationConfig/list": v.array(Push03),
  "tasks/pushNotificationConfig/delete": v.null(),
  "agent/getAuthenticatedExtendedCard": Card03,
};

/** Throws unless this is a result of the method as it was published. */
export function checkResult(method: string, value: unknown): void {
  const schema = results[method];
  if (!schema) return;
  const parsed = v.safeParse(schema, value);
  if (!parsed.success) {
    throw new Error(
      `${method}: ${JSON.stringify(v.flatten(parsed.issues))} in ${JSON.stringify(value).slice(0, 2_000)}`,
    );
  }
}

/** Throws unless this is a failure as 1.0 has it. */
export function checkFailure(value: unknown): void {
  v.parse(Failure1, value);
}
