/** Embeddings convert texts to vectors. */
import type { Embedder, Embeddings } from "../deployment.ts";

/** The most texts in one call of an embeddings model of Workers AI. */
const WORKERS_AI_TEXTS = 100;

/** Classes of packages that have several, by the provider's name in `store.index.embed`. */
const CLASSES: Record<string, string> = { openai: "OpenAIEmbeddings", azure_openai: "AzureOpenAIEmbeddings" };

/**
 * The embeddings of a provider's package: `model` is `<provider>:<model>`, as `store.index.embed` has it. Loaded and made by
 * the first call. Throws when the package has no embeddings.
 */
export function embeddingsFrom(model: string, load: () => Promise<Record<string, unknown>>): Embeddings {
  const at = model.indexOf(":");
  const [provider, name] = [model.slice(0, at), model.slice(at + 1)];
  let made: Embedder | undefined;
  return async (texts) => {
    if (!made) {
      const module = await load();
      const known = CLASSES[provider] ?? Object.keys(module).find((key) => key.endsWith("Embeddings"));
      const Class =
        known === undefined ? undefined : (module[known] as (new (options: object) => Embedder) | undefined);
      if (!Class) throw new Error(`The package of "${provider}" has no embeddings.`);
      made = new Class({ model: name });
    }
    return made.embedDocuments(texts);
  };
}

/** The embeddings of the model of Workers AI that is bound as AI: `store.index.embed` of `workers-ai:@cf/…`. */
export function workersAiEmbeddings(model: string): Embeddings {
  return async (texts, { AI }) => {
    if (!AI) throw new Error(`${model} needs the binding AI. Set "ai": { "binding": "AI" } in wrangler.jsonc.`);
    const all: number[][] = [];
    for (let at = 0; at < texts.length; at += WORKERS_AI_TEXTS) {
      const { data } = (await AI.run(model, { text: texts.slice(at, at + WORKERS_AI_TEXTS) })) as { data: number[][] };
      all.push(...data);
    }
    return all;
  };
}
