/** A2A's objects in the format of each generation. 1.0 allows no unknown members, and no nulls. */
import { type Json, isObject } from "../../lib/json.ts";
import {
  type A2aArtifact,
  type A2aGeneration,
  type A2aMessage,
  type A2aPart,
  type PushConfig,
  type TaskState,
  type TaskStatus,
  type A2aTask,
  type TaskUpdate,
  isSettled,
} from "./types.ts";

/** Without members that are undefined or empty lists. */
function present(values: Json): Json {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
}

const stateName = (state: TaskState, generation: A2aGeneration) =>
  generation === "0.3" ? state : `TASK_STATE_${state.toUpperCase().replaceAll("-", "_")}`;

function translatePart(given: A2aPart, generation: A2aGeneration): Json {
  if (generation === "1.0") return present({ ...given });
  const { text, raw, url, data, filename, mediaType, metadata } = given;
  if (text !== undefined) return present({ kind: "text", text, metadata });
  if (raw !== undefined || url !== undefined) {
    const file = present({ bytes: raw, uri: url, name: filename, mimeType: mediaType });
    return present({ kind: "file", file, metadata });
  }
  return present({ kind: "data", data: isObject(data) ? data : { value: data }, metadata });
}

function translateMessage(given: A2aMessage, generation: A2aGeneration): Json {
  const { role, parts, ...rest } = given;
  const all = { ...rest, role, parts: parts.map((one) => translatePart(one, generation)) };
  return generation === "0.3"
    ? present({ kind: "message", ...all })
    : present({ ...all, role: `ROLE_${role.toUpperCase()}` });
}

function artifact({ parts, ...rest }: A2aArtifact, generation: A2aGeneration): Json {
  return present({ ...rest, parts: parts.map((one) => translatePart(one, generation)) });
}

function status(given: TaskStatus, generation: A2aGeneration): Json {
  const { state, timestamp } = given;
  return present({
    state: stateName(state, generation),
    message: given.message && translateMessage(given.message, generation),
    timestamp,
  });
}

/** 0.3 callers read the answer from the status as well as from the artifacts (specification, section 4.4). */
export function statusWithResponse(task: A2aTask): TaskStatus {
  const last = task.artifacts.at(-1);
  if (task.status.state !== "completed" || task.status.message || !last) return task.status;
  const answer: A2aMessage = {
    messageId: last.artifactId,
    role: "agent",
    parts: last.parts,
    contextId: task.contextId,
    taskId: task.id,
  };
  return { ...task.status, message: answer };
}

/** `artifacts` is left out of lists that do not request them. */
export function translateTask(given: A2aTask, generation: A2aGeneration, withArtifacts = true): Json {
  const { id, contextId, history, artifacts } = given;
  return present({
    ...(generation === "0.3" && { kind: "task" }),
    id,
    contextId,
    status: status(generation === "0.3" ? statusWithResponse(given) : given.status, generation),
    artifacts: withArtifacts ? artifacts.map((one) => artifact(one, generation)) : undefined,
    history: history.map((one) => translateMessage(one, generation)),
  });
}

/** What 1.0 wraps in its kind, and 0.3 marks with it. */
export function wrappedTask(given: A2aTask, generation: A2aGeneration): Json {
  return generation === "0.3" ? translateTask(given, generation) : { task: translateTask(given, generation) };
}

/** An answer that is a message and no task. */
export function wrappedMessage(given: A2aMessage, generation: A2aGeneration): Json {
  return generation === "0.3" ? translateMessage(given, generation) : { message: translateMessage(given, generation) };
}

/** An event of a stream. `final` says in 0.3 what 1.0 says by ending the stream. */
export function update(given: TaskUpdate, ids: { taskId: string; contextId: string }, generation: A2aGeneration): Json {
  switch (given.kind) {
    case "message":
      return wrappedMessage(given.message, generation);
    case "status": {
      const { metadata } = given;
      const body = { ...ids, status: status(given.status, generation), ...(metadata && { metadata }) };
      if (generation === "1.0") return { statusUpdate: body };
      return { kind: "status-update", ...body, final: isSettled(given.status.state) };
    }
    case "artifact": {
      const { append, lastChunk } = given;
      const body = { ...ids, artifact: artifact(given.artifact, generation), append, lastChunk };
      return generation === "0.3" ? { kind: "artifact-update", ...body } : { artifactUpdate: body };
    }
  }
}

/** A push notification's configuration: 1.0 has it flat, 0.3 inside its task's. */
export function pushConfig(given: PushConfig, taskId: string, generation: A2aGeneration): Json {
  const { id, url, token, authentication } = given;
  if (generation === "1.0") {
    return present({ taskId, id, url, token, authentication: authentication && present({ ...authentication }) });
  }
  const schemes = authentication && [authentication.scheme];
  const credentials = authentication?.credentials;
  const inner = present({ id, url, token, authentication: schemes && present({ schemes, credentials }) });
  return { taskId, pushNotificationConfig: inner };
}
