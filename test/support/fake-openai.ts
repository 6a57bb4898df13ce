/** A local HTTP server with the OpenAI streaming format: one tool call, then an answer with its result, or what a test says. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

interface Message {
  role: string;
  content: string;
}

interface Asked {
  authorization: string | undefined;
  body: {
    model: string;
    temperature?: number;
    stream: boolean;
    messages: Message[];
    tools: unknown[];
  };
}

export interface FakeOpenAI {
  /** What to set OPENAI_BASE_URL to. */
  baseUrl: string;
  /** The requests so far. */
  asked: Asked[];
  stop(): void;
}

/** `say`: the answer to these messages, without a tool call. */
export async function startFakeOpenAI(say?: (messages: Message[]) => string): Promise<FakeOpenAI> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => void answer(request, response, asked, say));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, asked, stop: () => server.close() };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  asked: Asked[],
  say: ((messages: Message[]) => string) | undefined,
): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  if (request.method !== "POST" || request.url !== "/v1/chat/completions") return void response.writeHead(404).end();
  const body = JSON.parse(text) as Asked["body"];
  asked.push({ authorization: request.headers.authorization, body });
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: object, finish_reason: string | null = null) => {
    const chunk = { id: `chatcmpl-${asked.length}`, object: "chat.completion.chunk", created: 0, model: body.model };
    response.write(`data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
  };
  const last = body.messages.at(-1);
  if (say) {
    send({ role: "assistant", content: say(body.messages) });
    send({}, "stop");
  } else if (last?.role === "tool") {
    for (const word of ["It ", "is ", `${last.content}.`]) send({ role: "assistant", content: word });
    send({}, "stop");
  } else {
    send({ role: "assistant", content: "One moment." });
    const call = (more: object) => ({ tool_calls: [{ index: 0, ...more }] });
    send(call({ id: "call_1", type: "function", function: { name: "calculator", arguments: "" } }));
    for (const part of ['{"expres', 'sion":"6*7"}']) send(call({ function: { arguments: part } }));
    send({}, "tool_calls");
  }
  const usage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };
  response.write(`data: ${JSON.stringify({ id: "u", object: "chat.completion.chunk", choices: [], usage })}\n\n`);
  response.end("data: [DONE]\n\n");
}
