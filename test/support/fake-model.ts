/** A local server with OpenAI's streaming format, whose model's name says how it answers. */
import { createServer } from "node:http";
import { once } from "node:events";

export interface FakeModel {
  baseUrl: string;
  /** The requests so far. */
  asked: { body: { model: string; messages: { role: string; content: unknown }[] }; key: string }[];
  stop: () => void;
}

/**
 * `gpt-4o-mini`: answers with the last message in capitals. `breaks`: the connection ends in the middle. `hangs`: says one word and
 * waits. Others are unknown.
 */
export async function startFakeModel(): Promise<FakeModel> {
  const asked: FakeModel["asked"] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const body = JSON.parse(text) as FakeModel["asked"][number]["body"];
      asked.push({ body, key: request.headers.authorization ?? "" });
      if (!["gpt-4o-mini", "breaks", "hangs"].includes(body.model)) {
        response.writeHead(404, { "content-type": "application/json" });
        return response.end(JSON.stringify({ error: { message: `The model ${body.model} does not exist` } }));
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      const say = (content: string) => send({ choices: [{ index: 0, delta: { content } }] });
      if (body.model === "hangs") return say("One");
      if (body.model === "breaks") {
        say("Half an answer");
        return setTimeout(() => response.destroy(), 200);
      }
      for (const word of String(body.messages.at(-1)?.content)
        .toUpperCase()
        .split(/(?<= )/))
        say(word);
      send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
      const usage = { prompt_tokens: 1_000_000, completion_tokens: 7, total_tokens: 1_000_007 };
      send({ choices: [], usage });
      return response.end("data: [DONE]\n\n");
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { baseUrl: `http://127.0.0.1:${port}/v1`, asked, stop };
}
