/**
 * A local model provider with OpenAI's and Anthropic's formats. It answers a fixed sentence; where a
 * request forces a tool or a schema, a value that fits it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Body } from "./provider-answer.ts";
import { anthropic } from "./provider-anthropic.ts";
import { chatCompletions, embeddings, responses } from "./provider-openai.ts";

const ROUTES: [end: string, answer: (body: Body, response: ServerResponse) => void][] = [
  ["/chat/completions", chatCompletions],
  ["/responses", responses],
  ["/embeddings", embeddings],
  ["/messages", anthropic],
];

/** Starts it. `asked` are the paths of the requests so far. */
export async function startProvider(): Promise<{ url: string; asked: string[]; stop(): void }> {
  const asked: string[] = [];
  const server = createServer((request, response) => void answerRequest(request, response, asked));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return { url: `http://127.0.0.1:${port}`, asked, stop: () => server.close() };
}

async function answerRequest(request: IncomingMessage, response: ServerResponse, asked: string[]): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const path = (request.url ?? "").split("?")[0] ?? "";
  asked.push(path);
  const answer = ROUTES.find(([end]) => path.endsWith(end))?.[1];
  if (!answer) return void response.writeHead(404).end();
  answer(JSON.parse(text || "{}") as Body, response);
}
