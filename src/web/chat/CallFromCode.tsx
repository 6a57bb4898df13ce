/** The request that the chat makes, for a program: to copy, with this server's address in it. */
import { Tabs } from "radix-ui";
import { SERVER } from "../api/server.ts";
import type { Assistant } from "../api/types.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { FillKey, useNewKey } from "./FillKey.tsx";
import { examplesOf } from "./examples.ts";
import css from "./Welcome.module.css";

export function CallFromCode({ assistant }: { assistant: Assistant }) {
  const fill = useNewKey();
  const samples = samplesOf(assistant, fill.key);
  return (
    <section className={css.code} aria-labelledby="call-from-code">
      <Tabs.Root defaultValue="curl">
        <div className={css.codeHead}>
          <h3 id="call-from-code">Call it from code</h3>
          <Tabs.List className={css.tabs} aria-label="Language">
            {samples.map(({ name }) => (
              <Tabs.Trigger key={name} value={name} className={css.tab}>
                {name}
              </Tabs.Trigger>
            ))}
          </Tabs.List>
        </div>
        {samples.map(({ name, text }) => (
          <Tabs.Content key={name} value={name} className={css.sample} tabIndex={-1}>
            {/* What scrolls must be reachable by keyboard. */}
            {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
            <pre tabIndex={0} role="region" aria-label={`Example, ${name}`}>
              {text}
            </pre>
            <div className={css.copy}>
              <CopyButton text={text} label={`Copy the ${name} example`} />
            </div>
          </Tabs.Content>
        ))}
      </Tabs.Root>
      <div className={css.key}>
        <FillKey fill={fill} />
      </div>
    </section>
  );
}

function samplesOf(assistant: Assistant, key: string | undefined): { name: string; text: string }[] {
  const origin = SERVER;
  const id = assistant.metadata?.created_by === "system" ? assistant.graph_id : assistant.assistant_id;
  const message = examplesOf(assistant)[0] ?? "Hello";
  const words = JSON.stringify(message);
  const body = `{
    "assistant_id": "${id}",
    "input": {"messages": [{"role": "user", "content": ${words}}]},
    "stream_mode": ["messages-tuple"]
  }`;
  return [
    {
      name: "curl",
      text: `curl -N ${origin}/runs/stream \\
  -H "x-api-key: ${key ?? "$WEIR_API_KEY"}" -H "content-type: application/json" \\
  -d '${body.replaceAll("'", String.raw`'\''`)}'`,
    },
    {
      name: "TypeScript",
      text: `import { Client } from "@langchain/langgraph-sdk";

const client = new Client({ apiUrl: "${origin}", apiKey: ${key === undefined ? "process.env.WEIR_API_KEY" : JSON.stringify(key)} });
const { thread_id } = await client.threads.create();
const run = client.runs.stream(thread_id, "${id}", {
  input: { messages: [{ role: "user", content: ${words} }] },
  streamMode: "messages-tuple",
});
for await (const { event, data } of run) console.log(event, data);`,
    },
    {
      name: "Python",
      text: `import asyncio, os
from langgraph_sdk import get_client

async def main():
    client = get_client(url="${origin}", api_key=${key === undefined ? 'os.environ["WEIR_API_KEY"]' : JSON.stringify(key)})
    thread = await client.threads.create()
    messages = [{"role": "user", "content": ${words}}]
    async for part in client.runs.stream(
        thread["thread_id"], "${id}", input={"messages": messages}, stream_mode="messages-tuple"
    ):
        print(part.event, part.data)

asyncio.run(main())`,
    },
  ];
}
