import { afterEach, expect, it } from "vitest";
import { createVectorSearch, workersAiEmbeddings } from "../../../src/agents/memory/vectors.ts";
import { projectExports } from "../../../src/deployment.ts";

const before = projectExports.embeddings;
afterEach(() => {
  projectExports.embeddings = before;
});

it("embeddings of Workers AI come from the binding AI, at most 100 texts a call", async () => {
  const asked: [string, number][] = [];
  const AI = {
    async run(model: string, { text }: { text?: string[] }) {
      asked.push([model, text?.length ?? 0]);
      return { shape: [text?.length, 1], data: (text ?? []).map((one) => [Number(one)]) };
    },
  };
  projectExports.embeddings = workersAiEmbeddings("@cf/baai/bge-m3");
  const texts = Array.from({ length: 130 }, (_, n) => String(n));
  expect(await createVectorSearch({ AI } as unknown as Env)?.embed(texts)).toEqual(texts.map((one) => [Number(one)]));
  expect(asked).toEqual([
    ["@cf/baai/bge-m3", 100],
    ["@cf/baai/bge-m3", 30],
  ]);
});

it("without the binding the error says what to set", async () => {
  projectExports.embeddings = workersAiEmbeddings("@cf/baai/bge-m3");
  await expect(createVectorSearch({} as Env)?.embed(["a"])).rejects.toThrow(
    /@cf\/baai\/bge-m3 needs the binding AI.*wrangler.jsonc/,
  );
});
