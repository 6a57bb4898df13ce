/**
 * The media types that an assistant accepts and returns. Its card lists them. They are enforced when its metadata names
 * them.
 */
import * as v from "valibot";
import { hasMessages, type GraphConfig } from "../../agents/assistants/describe.ts";
import type { Assistant } from "../../agents/assistants/store.ts";
import { isObject } from "../../lib/json.ts";
import { projectExports } from "../../deployment.ts";
import { contentNotSupported } from "./errors.ts";
import type { Send } from "./schema.ts";
import { CardSettings } from "../../config.ts";
import type { A2aPart } from "./types.ts";

/** `metadata.a2a` of an assistant, or `a2a` of its graph. An invalid member is left out. */
const { entries } = CardSettings;
const Settings = v.object({
  provider: v.fallback(entries.provider, undefined),
  documentation_url: v.fallback(entries.documentation_url, undefined),
  icon_url: v.fallback(entries.icon_url, undefined),
  extensions: v.fallback(entries.extensions, undefined),
  input_modes: v.fallback(entries.input_modes, undefined),
  output_modes: v.fallback(entries.output_modes, undefined),
  skills: v.fallback(entries.skills, undefined),
});
type Settings = v.InferOutput<typeof Settings>;

/** What an assistant's card says: the members of its own metadata, then those of its graph's code. */
export function readSettings({ metadata, graph_id }: Pick<Assistant, "metadata" | "graph_id">): Settings {
  const ofGraph = settingsIn(projectExports.a2a?.[graph_id]);
  const own = Object.entries(settingsIn(metadata.a2a)).filter(([, value]) => value !== undefined);
  return { ...ofGraph, ...(Object.fromEntries(own) as Settings) };
}

const settingsIn = (given: unknown): Settings => v.parse(Settings, isObject(given) ? given : {});

export interface MediaModes {
  input: string[];
  output: string[];
}

const ANY = ["text/plain", "application/json", "application/octet-stream"];

/** The media types of an assistant's card: those that its metadata names, else what its graph's state can hold. */
export async function readModes(assistant: Pick<Assistant, "metadata"> & GraphConfig, env: Env): Promise<MediaModes> {
  const { input_modes, output_modes } = readSettings(assistant);
  const input = input_modes ?? ((await hasMessages(assistant, env)) ? ANY : ["application/json"]);
  return { input, output: output_modes ?? ANY };
}

function partType({ text, data, mediaType }: A2aPart): string {
  if (mediaType) return mediaType;
  if (text !== undefined) return "text/plain";
  return data === undefined ? "application/octet-stream" : "application/json";
}

/** Whether a mode such as `image/*` or `text` covers a media type. */
function coversType(mode: string, type: string): boolean {
  if (mode === "*" || mode === "*/*" || mode === type) return true;
  const [kind = ""] = mode.split("/");
  return (mode === kind || mode === `${kind}/*`) && type.split("/")[0] === kind;
}

/** Refuses (−32005) modes that the assistant does not accept, or cannot answer in. An empty list of modes means any. */
export function acceptParts(assistant: Assistant, { message, configuration }: Send): void {
  const { input_modes, output_modes } = readSettings(assistant);
  const refused =
    input_modes && message.parts.find((part) => !input_modes.some((mode) => coversType(mode, partType(part))));
  if (refused) throw contentNotSupported("A part's media type is not one that this agent takes. See its card.");
  const { acceptedOutputModes: wanted } = configuration;
  if (!output_modes || wanted.length === 0) return;
  if (!output_modes.some((mode) => wanted.some((want) => coversType(want, mode) || coversType(mode, want)))) {
    throw contentNotSupported("This agent answers in none of acceptedOutputModes. See its card.");
  }
}
