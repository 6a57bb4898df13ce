/** A dataset with two experiments, made with the stock LangSmith client. */
import { Client } from "langsmith";
import { evaluate } from "langsmith/evaluation";
import type { Access } from "./server.ts";

const QUESTIONS = ["one", "two", "three"];

/** The dataset "questions": the experiment `base` is right about all three, `next` is wrong about the second. */
export async function sendExperiments({ url, key }: Access): Promise<void> {
  const client = new Client({ apiUrl: url, apiKey: key, webUrl: url });
  const dataset = await client.createDataset("questions");
  await client.createExamples(
    QUESTIONS.map((question) => ({
      dataset_id: dataset.id,
      inputs: { question },
      outputs: { answer: question.toUpperCase() },
    })),
  );
  for (const [experimentPrefix, wrong] of [
    ["base", ""],
    ["next", "two"],
  ] as const)
    await evaluate(
      async ({ question }: { question: string }) => ({
        answer: question === wrong ? "mistaken" : question.toUpperCase(),
      }),
      {
        client,
        data: "questions",
        experimentPrefix,
        evaluators: [
          ({ outputs, referenceOutputs }: { outputs: object; referenceOutputs?: object }) => ({
            key: "correct",
            score: JSON.stringify(outputs) === JSON.stringify(referenceOutputs) ? 1 : 0,
          }),
        ],
      },
    );
  await client.flush();
}
