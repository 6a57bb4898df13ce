/** What is committed: the constructor of LangChain that the SDKs serialize. */
import { isObject } from "../lib/json.ts";
import type { Json } from "../lib/json.ts";

export interface Pulled {
  manifest: Json;
  model_provider: string | null;
  model_config: Json | null;
}

const className = (value: Json): unknown => (Array.isArray(value.id) ? value.id.at(-1) : undefined);

/**
 * A commit as it is pulled. A prompt that was pushed with its model is a sequence of both, and the model is left out unless
 * `include_model` requests it (`include_model` of the SDKs' `pullPrompt`).
 */
export function pullManifest(manifest: Json, includeModel: boolean): Pulled {
  const without = { model_provider: null, model_config: null };
  const { first, last } = isObject(manifest.kwargs) ? manifest.kwargs : {};
  if (className(manifest) !== "RunnableSequence" || !isObject(first)) return { manifest, ...without };
  if (!includeModel) return { manifest: first, ...without };
  const kwargs = isObject(last) && isObject(last.kwargs) ? last.kwargs : {};
  // Tools and settings are bound around the model.
  const model = isObject(kwargs.bound) ? kwargs.bound : isObject(last) ? last : {};
  const name = className(model);
  return {
    manifest,
    model_provider: typeof name === "string" ? name : null,
    model_config: isObject(model.kwargs) ? model.kwargs : null,
  };
}
