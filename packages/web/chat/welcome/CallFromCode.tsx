/** The request that the chat makes, for a program: to copy, with this server's address in it. */
import { type KeyboardEvent, useId, useState } from "react";
import { SERVER } from "../../api/server.ts";
import type { Assistant } from "../../api/types.ts";
import { CopyButton } from "../../ui/Button.tsx";
import { FillKey, useNewKey } from "./StartSteps.tsx";
import css from "./Welcome.module.css";

/** The language that the reader chose last. */
const LANGUAGE = "weir.language";

export function CallFromCode({ assistant }: { assistant: Assistant }) {
  const fill = useNewKey();
  const samples = buildSamples(assistant, fill.key);
  const id = useId();
  const [language, setLanguage] = useState(() => localStorage.getItem(LANGUAGE));
  const chosen = Math.max(
    0,
    samples.findIndex((sample) => sample.name === language),
  );
  const choose = (place: number) => {
    const next = samples[place]!.name;
    setLanguage(next);
    localStorage.setItem(LANGUAGE, next);
  };
  const { name, text } = samples[chosen]!;
  // The keys of a list of tabs (WAI-ARIA), of which one is a stop for the tab key.
  const move = (event: KeyboardEvent<HTMLElement>) => {
    const last = samples.length - 1;
    const places: Record<string, number> = {
      ArrowRight: chosen === last ? 0 : chosen + 1,
      ArrowLeft: chosen === 0 ? last : chosen - 1,
      Home: 0,
      End: last,
    };
    const next = places[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
    event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <section className={css.code} aria-labelledby="call-from-code">
      <div className={css.codeHead}>
        <h3 id="call-from-code">Call it from code</h3>
        {/* oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- the chosen tab has the focus */}
        <div role="tablist" className={css.tabs} aria-label="Language" onKeyDown={move}>
          {samples.map((sample, i) => (
            <button
              key={sample.name}
              type="button"
              role="tab"
              id={`${id}-tab-${i}`}
              className={css.tab}
              aria-selected={i === chosen}
              aria-controls={`${id}-panel`}
              tabIndex={i === chosen ? 0 : -1}
              onClick={() => choose(i)}
            >
              {sample.name}
            </button>
          ))}
        </div>
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${chosen}`} className={css.sample}>
        {/* A box that scrolls must be reachable by keyboard. */}
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <pre tabIndex={0} role="region" aria-label={`Example, ${name}`}>
          {text}
        </pre>
        <div className={css.copy}>
          <CopyButton key={name} text={text} label={`Copy the ${name} example`} />
        </div>
      </div>
      <div className={css.key}>
        <FillKey fill={fill} />
      </div>
    </section>
  );
}

function buildSamples(assistant: Assistant, key: string | undefined): { name: string; text: string }[] {
  const origin = SERVER;
  const id = assistant.metadata?.created_by === "system" ? assistant.graph_id : assistant.assistant_id;
  const message = readExamples(assistant)[0] ?? "Hello";
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

// An assistant describes itself in its metadata: langgraph.json sets them for a graph's default assistant.

const MOST = 4;

/** `metadata.examples`: first messages to try. */
export function readExamples({ metadata }: Assistant): string[] {
  const { examples } = metadata ?? {};
  return Array.isArray(examples)
    ? examples.filter((one): one is string => typeof one === "string" && one !== "").slice(0, MOST)
    : [];
}

/** A text of the metadata, such as `title`. */
export function readWord({ metadata }: Assistant, name: string): string | undefined {
  const value = metadata?.[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
