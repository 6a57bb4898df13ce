/** Templates of prompts in LangChain's two formats, and the messages that are made of them. The page uses them, too. */
import type { MessageRole } from "./role.ts";

export type TemplateFormat = "none" | "f-string" | "mustache";

export type TemplatePart = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

export interface ToolCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

/** A message as a template, or filled. The content of a placeholder is the name of the variable that holds messages. */
export interface TemplateMessage {
  role: MessageRole | "placeholder";
  content: string | TemplatePart[];
  tool_calls?: ToolCall[] | undefined;
  tool_call_id?: string | undefined;
}

/** A template that cannot be filled. The text says why. */
export class TemplateFault extends Error {
  override name = "TemplateFault";
}

export type TemplateVariables = Record<string, unknown>;

/** A variable of a template. `data`: its value is JSON and no text. */
export interface TemplateVariable {
  name: string;
  data: boolean;
}

/** Characters of filled texts, and parts that are put together for them. */
const MAX_FILLED = 4 * 1024 * 1024;
/** Characters that each piece counts as besides its own, and a message of a placeholder: short ones are work, too. */
const PIECE_WEIGHT = 20;
const MESSAGE_WEIGHT = 200;

/** What may still be filled: a list in nested sections, or a long value that is named often, makes far more than was sent. */
class Room {
  #left = MAX_FILLED;

  /** The text, counted. @throws TemplateFault */
  take(text: string): string {
    this.#spend(text.length + PIECE_WEIGHT);
    return text;
  }

  /** Counts messages before they are made. @throws TemplateFault */
  make(messages: number): void {
    this.#spend(messages * MESSAGE_WEIGHT);
  }

  #spend(characters: number): void {
    this.#left -= characters;
    if (this.#left < 0)
      throw new TemplateFault(`The texts with their variables are longer than ${MAX_FILLED} characters.`);
  }
}

interface Formatter {
  fill: (text: string, values: TemplateVariables, room: Room) => string;
  names: (text: string) => TemplateVariable[];
}

const FORMATS: Record<TemplateFormat, Formatter> = {
  none: { fill: (text, _, room) => room.take(text), names: () => [] },
  "f-string": { fill: fillFString, names: namesInFString },
  mustache: {
    fill: (text, values, room) => render(parseMustache(text), { scopes: [values], outer: true, room }),
    names: (text) => parseMustache(text).flatMap(namesOfNode),
  },
};

/** The text with the values of its variables. @throws TemplateFault */
export const fillText = (text: string, format: TemplateFormat, values: TemplateVariables, room = new Room()): string =>
  FORMATS[format].fill(text, values, room);

/** The variables of the messages, each once. @throws TemplateFault */
export function variablesIn(messages: TemplateMessage[], format: TemplateFormat): TemplateVariable[] {
  const found = new Map<string, boolean>();
  for (const { role, content } of messages) {
    const named =
      role === "placeholder" && typeof content === "string"
        ? [{ name: content.trim(), data: true }]
        : textsIn(content).flatMap((text) => FORMATS[format].names(text));
    for (const { name, data } of named) if (name !== "") found.set(name, data || (found.get(name) ?? false));
  }
  return [...found].map(([name, data]) => ({ name, data }));
}

const textsIn = (content: string | TemplatePart[]): string[] =>
  typeof content === "string"
    ? [content]
    : content.flatMap((part) => {
        if (part.type === "text") return [part.text];
        return part.image_url.url.startsWith("data:") ? [] : [part.image_url.url];
      });

/**
 * The messages with the values of their variables. `asMessage` reads the items of a placeholder's value.
 * @throws TemplateFault
 */
export function fillMessages(
  messages: TemplateMessage[],
  format: TemplateFormat,
  values: TemplateVariables,
  asMessage: (given: unknown, name: string) => TemplateMessage,
): TemplateMessage[] {
  const room = new Room();
  const fill = (text: string) => fillText(text, format, values, room);
  return messages.flatMap((message): TemplateMessage[] => {
    const { role, content } = message;
    if (role !== "placeholder") {
      if (typeof content === "string") return [{ ...message, content: fill(content) }];
      const parts = content.map((part): TemplatePart =>
        part.type === "text"
          ? { type: "text", text: fill(part.text) }
          : { type: "image_url", image_url: { url: fillUrl(part.image_url.url, fill) } },
      );
      return [{ ...message, content: parts }];
    }
    const name = typeof content === "string" ? content.trim() : "";
    const given = Object.hasOwn(values, name) ? values[name] : undefined;
    if (given === undefined || given === "") return [];
    if (!Array.isArray(given)) throw new TemplateFault(`The variable ${name} must be a list of messages.`);
    room.make(given.length);
    return given.map((one) => asMessage(one, name));
  });
}

/** An image that is in the message has no variables, and may be long. */
const fillUrl = (url: string, fill: (text: string) => string) => (url.startsWith("data:") ? url : fill(url));

/** `{{` and `}}` are braces; `{name}` is a variable. */
const F_STRING = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;

function fillFString(text: string, values: TemplateVariables, room: Room): string {
  room.take(text);
  return text.replaceAll(F_STRING, (all: string, name: string | undefined) => {
    if (name !== undefined) return room.take(toText(valueNamed(nameIn(name, all), values)));
    if (all.length === 1) throw new TemplateFault(`A single ${all} is not allowed in an f-string: write ${all}${all}.`);
    return all.slice(1);
  });
}

function namesInFString(text: string): TemplateVariable[] {
  return [...text.matchAll(F_STRING)].flatMap(([all, name]) =>
    name === undefined ? [] : [{ name: nameIn(name, all), data: false }],
  );
}

function nameIn(given: string, all: string): string {
  const name = given.trim();
  if (/^[\w.-]{1,100}$/.test(name)) return name;
  throw new TemplateFault(`${all.slice(0, 60)} names no variable. In an f-string {{ and }} are braces.`);
}

function valueNamed(name: string, values: TemplateVariables): unknown {
  if (Object.hasOwn(values, name)) return values[name];
  throw new TemplateFault(`The variable ${name} has no value.`);
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

type TemplateNode = string | { name: string; section?: "#" | "^"; inner: TemplateNode[] };

const TAG = /\{\{\{([^{}]*)\}\}\}|\{\{([#^/&!]?)([^{}]*)\}\}/g;
const DEPTH = 20;

/** Mustache's variables, sections, inverted sections and comments. There are no partials and no other delimiters. */
function parseMustache(text: string): TemplateNode[] {
  const root: TemplateNode[] = [];
  const open: { name: string; inner: TemplateNode[] }[] = [{ name: "", inner: root }];
  let at = 0;
  for (const found of text.matchAll(TAG)) {
    const [all, raw, kind = "", given = ""] = found;
    const inner = open.at(-1)?.inner ?? root;
    if (found.index > at) inner.push(text.slice(at, found.index));
    at = found.index + all.length;
    const name = (raw ?? given).trim();
    if (kind === "!") continue;
    if (!/^(?:\.|[\w.-]{1,100})$/.test(name)) throw new TemplateFault(`${all.slice(0, 60)} names no variable.`);
    if (kind === "/") {
      if (open.length === 1 || open.pop()?.name !== name)
        throw new TemplateFault(`{{/${name}}} closes no section that is open.`);
    } else if (kind === "#" || kind === "^") {
      if (open.length > DEPTH) throw new TemplateFault(`Sections nest deeper than ${DEPTH} levels.`);
      const node = { name, section: kind, inner: [] as TemplateNode[] } as const;
      inner.push(node);
      open.push(node);
    } else inner.push({ name, inner: [] });
  }
  if (open.length > 1) throw new TemplateFault(`The section ${open.at(-1)?.name} is not closed.`);
  if (at < text.length) root.push(text.slice(at));
  return root;
}

function namesOfNode(node: TemplateNode): TemplateVariable[] {
  if (typeof node === "string" || node.name === ".") return [];
  const [name = ""] = node.name.split(".");
  return [{ name, data: node.section !== undefined || node.name.includes(".") }];
}

interface Rendering {
  scopes: unknown[];
  /** A variable without a value is a fault here, and empty within a section. */
  outer: boolean;
  room: Room;
}

function render(nodes: TemplateNode[], rendering: Rendering): string {
  return nodes.map((node) => rendering.room.take(renderNode(node, rendering))).join("");
}

function renderNode(node: TemplateNode, rendering: Rendering): string {
  if (typeof node === "string") return node;
  const { scopes, outer, room } = rendering;
  const value = lookUp(node.name, scopes);
  if (node.section === undefined) {
    if (value === undefined && outer) throw new TemplateFault(`The variable ${node.name} has no value.`);
    return toText(value);
  }
  const isEmpty = value === undefined || value === null || value === false || value === "" || isEmptyList(value);
  if (node.section === "^") return isEmpty ? render(node.inner, { scopes, outer: false, room }) : "";
  if (isEmpty) return "";
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items.map((item) => room.take(render(node.inner, { scopes: [...scopes, item], outer: false, room }))).join("");
}

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

function lookUp(name: string, scopes: unknown[]): unknown {
  if (name === ".") return scopes.at(-1);
  const [first = "", ...rest] = name.split(".");
  const scope = scopes.findLast((one) => readMember(one, first) !== undefined);
  return rest.reduce(readMember, readMember(scope, first));
}

function readMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
