/** A receiver of webhooks and push notifications, on this machine. */
import { createServer, type IncomingHttpHeaders } from "node:http";

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  // oxlint-disable-next-line typescript/no-explicit-any -- what is sent here has many shapes
  body: any;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** What comes next is answered with these, in order: a status, or the address of a redirect. Then 200. */
  answers: (number | string)[];
  stop(): void;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const answers: Receiver["answers"] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      received.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(text) });
      const answer = answers.shift() ?? 200;
      if (typeof answer === "string") response.writeHead(307, { location: answer });
      else response.writeHead(answer);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return { url: `http://127.0.0.1:${port}`, received, answers, stop: () => server.close() };
}
