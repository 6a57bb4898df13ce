/** The types of `weir-server/workers-ai`. */

/** The part of the platform's `Ai` binding that is used. */
export interface AiBinding {
  // oxlint-disable-next-line typescript/no-explicit-any -- fits the platform's `Ai`, whose types depend on the model
  run(model: any, inputs: any): Promise<any>;
}

/**
 * A `fetch` for `configuration.fetch` of ChatOpenAI: chat completions of Workers AI, streamed or whole, with tools. The
 * model's name may have the prefix `workers-ai:`.
 */
export declare function workersAi(ai: AiBinding): typeof fetch;
