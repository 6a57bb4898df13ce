/**
 * The records of the stored form: JSON objects that represent a message, for a builtin that JSON has no name for, or for
 * another LangChain object. An object that is not exactly what the serializers write is the user's own data.
 */
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";

export type JsonObject = Record<string, unknown>;

export interface MessageClass {
  /** The `type` of the wire form. */
  type: string;
  revive: new (fields: never) => object;
}

/** What LangChain's serializer writes of an object of its own. */
export interface ConstructedObject extends JsonObject {
  id: string[];
  kwargs: JsonObject;
}

/** The builtins of the stored form, with their arguments as the serializers write them. */
export type BuiltinValue =
  | { name: "undefined" }
  | { name: "Map"; entries: [unknown, unknown][] }
  | { name: "Set"; items: unknown[] }
  | { name: "Uint8Array"; bytes: number[] }
  | { name: "RegExp"; source: string; flags: string }
  | { name: "Error"; message: string };

const MESSAGES = new Map<string, MessageClass>([
  ["AIMessage", { type: "ai", revive: AIMessage }],
  ["AIMessageChunk", { type: "ai", revive: AIMessageChunk }],
  ["HumanMessage", { type: "human", revive: HumanMessage }],
  ["HumanMessageChunk", { type: "human", revive: HumanMessageChunk }],
  ["SystemMessage", { type: "system", revive: SystemMessage }],
  ["SystemMessageChunk", { type: "system", revive: SystemMessageChunk }],
  ["ToolMessage", { type: "tool", revive: ToolMessage }],
  ["ToolMessageChunk", { type: "tool", revive: ToolMessageChunk }],
  ["FunctionMessage", { type: "function", revive: FunctionMessage }],
  ["FunctionMessageChunk", { type: "function", revive: FunctionMessageChunk }],
  ["ChatMessage", { type: "generic", revive: ChatMessage }],
  ["ChatMessageChunk", { type: "generic", revive: ChatMessageChunk }],
  ["RemoveMessage", { type: "remove", revive: RemoveMessage }],
]);
const PROTOTYPES = new Set<unknown>([...MESSAGES.values()].map(({ revive }) => revive.prototype as unknown));

/**
 * What LangChain's loader may make, besides messages. It calls any function that a record names: a loader of documents,
 * for example, makes a client that holds a key of the environment.
 */
const LOADABLE = new Set([
  "prompt_values/ChatPromptValue",
  "prompt_values/ImagePromptValue",
  "prompts/AIMessagePromptTemplate",
  "prompts/ChatMessagePromptTemplate",
  "prompts/ChatPromptTemplate",
  "prompts/DictPromptTemplate",
  "prompts/FewShotChatMessagePromptTemplate",
  "prompts/FewShotPromptTemplate",
  "prompts/HumanMessagePromptTemplate",
  "prompts/ImagePromptTemplate",
  "prompts/MessagesPlaceholder",
  "prompts/PromptTemplate",
  "prompts/SystemMessagePromptTemplate",
  ...[...MESSAGES.keys()].map((name) => `messages/${name}`),
]);

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null;

const CONSTRUCTED = ["lc", "type", "id", "kwargs"];
const BUILTIN = ["lc", "type", "id", "method", "args", "kwargs"];
const NOTHING = ["lc", "type"];

const isString = (value: unknown): value is string => typeof value === "string";
const isMembers = (value: unknown): value is JsonObject => isObject(value) && !Array.isArray(value);

function hasExactly(record: JsonObject, names: readonly string[]): boolean {
  const own = Object.keys(record);
  return own.length === names.length && own.every((name) => names.includes(name));
}

/** Whether it is LangGraph's `Send`. A plain object with the same member is the user's own data. */
export const isSend = (value: unknown): boolean =>
  isObject(value) && value.lg_name === "Send" && Object.getPrototypeOf(value) !== Object.prototype;

/** Whether it is a message of a class that the stored form knows, and of no class that inherits from it. */
export const isKnownMessage = (value: object): boolean => PROTOTYPES.has(Object.getPrototypeOf(value));

/** Whether a record has the form of an object of LangChain. */
export function isConstructed(record: JsonObject): record is ConstructedObject {
  return (
    record.lc === 1 &&
    record.type === "constructor" &&
    hasExactly(record, CONSTRUCTED) &&
    Array.isArray(record.id) &&
    record.id.every(isString) &&
    isMembers(record.kwargs) &&
    // LangChain copies members by assignment, which for this one sets what the copy inherits.
    !Object.hasOwn(record.kwargs, "__proto__")
  );
}

/** The class of a message's record. */
export function messageClass({ id }: ConstructedObject): MessageClass | undefined {
  return MESSAGES.get(id.at(-1) ?? "");
}

/** What LangChain keeps of an object of the user that has a member `lc`, within an object of its own. */
export function readEscaped(record: JsonObject): { value: unknown } | undefined {
  return Object.hasOwn(record, "__lc_escaped__") && Object.keys(record).length === 1
    ? { value: record["__lc_escaped__"] }
    : undefined;
}

/** Whether it is of a class that LangChain's loader may make. */
export function isLoadable({ id: [root, namespace, ...rest] }: ConstructedObject): boolean {
  return root === "langchain_core" && LOADABLE.has(`${namespace}/${rest.at(-1)}`);
}

/** Whether all objects of LangChain in it are loadable: the loader makes them, too, and reads secrets that they name. */
export function holdsLoadable(value: unknown): boolean {
  if (!isObject(value)) return true;
  if (Object.hasOwn(value, "__proto__")) return false;
  if ("lc" in value && !(isConstructed(value) && isLoadable(value))) return false;
  return Object.values(value).every(holdsLoadable);
}

/** The builtin that a record represents. */
export function findBuiltin(record: JsonObject): BuiltinValue | undefined {
  if (record.lc !== 2) return undefined;
  if (record.type === "undefined") return hasExactly(record, NOTHING) ? { name: "undefined" } : undefined;
  const { type, id, method, args, kwargs } = record;
  if (type !== "constructor" || !hasExactly(record, BUILTIN)) return undefined;
  if (!Array.isArray(id) || id.length !== 1 || !Array.isArray(args)) return undefined;
  if (!isMembers(kwargs) || Object.keys(kwargs).length > 0) return undefined;
  const [name] = id as unknown[];
  // LangGraph's serializer writes a method for this one only.
  if (method !== null && !(name === "Uint8Array" && method === "from")) return undefined;
  return builtin(name, args);
}

function builtin(name: unknown, args: unknown[]): BuiltinValue | undefined {
  const [first, second] = args;
  if (name === "RegExp") {
    if (args.length !== 2 || !isString(first) || !isString(second) || !isPattern(first, second)) return undefined;
    return { name, source: first, flags: second };
  }
  if (args.length !== 1) return undefined;
  if (name === "Error") return isString(first) ? { name, message: first } : undefined;
  if (!Array.isArray(first)) return undefined;
  const items = first as unknown[];
  if (name === "Set") return { name, items };
  if (name === "Map") return items.every(isPair) ? { name, entries: items } : undefined;
  if (name === "Uint8Array") return items.every(isByte) ? { name, bytes: items } : undefined;
  return undefined;
}

const isPair = (value: unknown): value is [unknown, unknown] => Array.isArray(value) && value.length === 2;
const isByte = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;

function isPattern(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}
