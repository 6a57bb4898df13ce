/** The chat before its first message: what this is, what to try, and how a program does the same. */
import { ArrowRight } from "lucide-react";
import { Link } from "wouter";
import { useRefusal } from "../../api/me.ts";
import { useProjects, useInfo } from "../../api/queries.ts";
import { resolveAddress } from "../../api/server.ts";
import type { Assistant } from "../../api/types.ts";
import { Button } from "../../ui/Button.tsx";
import { CallFromCode, readExamples, readWord } from "./CallFromCode.tsx";
import { StartSteps } from "./StartSteps.tsx";
import css from "./Welcome.module.css";

/** Cards for more than the chosen assistant's own examples. */
const CARDS = 3;

export function Welcome({
  assistant,
  assistants,
  onExample,
  onAssistant,
}: {
  assistant: Assistant;
  assistants: Assistant[];
  onExample: (text: string, assistant: Assistant) => void;
  onAssistant: (assistant: Assistant) => void;
}) {
  const projects = useProjects();
  const info = useInfo();
  const refusal = useRefusal("runs.create");
  const example = { type: "button", disabled: refusal !== undefined, title: refusal } as const;
  // Content that follows from their responses would move the rest when it comes.
  if (projects.isPending || info.isPending) return <div className={css.welcome} />;
  const titled = assistants.filter((one) => readWord(one, "title") && readExamples(one).length > 0);
  const order = ["agent", "approval", "research"];
  const cards = titled.toSorted((a, b) => order.indexOf(a.graph_id) - order.indexOf(b.graph_id)).slice(0, CARDS);
  const shown = new Set(cards.map((one) => one.assistant_id));
  const own = shown.has(assistant.assistant_id) ? [] : readExamples(assistant);
  const others = assistants.filter((one) => one !== assistant && !shown.has(one.assistant_id));
  return (
    <div className={css.welcome}>
      <div className={css.inner}>
        <header>
          <h2>{cards.length > 0 ? "Talk to your agents" : assistant.name}</h2>
          <p>
            {cards.length > 0
              ? "This server runs LangGraph agents, keeps every step they take, and traces every run. Try an example, or write a message."
              : (assistant.description ?? `Runs the graph ${assistant.graph_id}.`)}
          </p>
        </header>
        {info.data?.flags.openai_key === false && <DemoModel assistant={assistant} />}
        {cards.length > 0 && (
          <ul className={css.cards}>
            {cards.map((one) => (
              <li key={one.assistant_id}>
                <button {...example} className={css.card} onClick={() => onExample(readExamples(one)[0]!, one)}>
                  <strong>{readWord(one, "title")}</strong>
                  <span>{one.description}</span>
                  <q>{readExamples(one)[0]}</q>
                </button>
              </li>
            ))}
          </ul>
        )}
        {own.length > 0 && (
          <ul className={css.examples}>
            {own.map((text) => (
              <li key={text}>
                <button {...example} onClick={() => onExample(text, assistant)}>
                  {text}
                </button>
              </li>
            ))}
          </ul>
        )}
        {others.length > 0 && (
          <div className={css.others}>
            <span>Other assistants</span>
            {others.slice(0, 6).map((one) => (
              <Button key={one.assistant_id} look="quiet" onClick={() => onAssistant(one)}>
                {one.name}
              </Button>
            ))}
          </div>
        )}
        {projects.data?.length === 0 ? (
          <StartSteps
            talk={<p>Choose an example above, or write a message below.</p>}
            connect={<CallFromCode assistant={assistant} />}
          />
        ) : (
          <CallFromCode assistant={assistant} />
        )}
        <nav className={css.links} aria-label="Further">
          <Link href="/traces">
            See the traces <ArrowRight size={14} aria-hidden />
          </Link>
          <a href="/docs/" target="_blank" rel="noopener noreferrer">
            Read the documentation <ArrowRight size={14} aria-hidden />
          </a>
          <a href={resolveAddress("/openapi.json")} target="_blank" rel="noopener noreferrer">
            OpenAPI <ArrowRight size={14} aria-hidden />
          </a>
        </nav>
      </div>
    </div>
  );
}

/** Shown where the assistant names the variable that holds its model's key, and the server does not have it. */
function DemoModel({ assistant }: { assistant: Assistant }) {
  const key = readWord(assistant, "model_key");
  if (key !== "OPENAI_API_KEY") return null;
  return (
    <p className={css.notice} role="note">
      <strong>Demo model: no key is set.</strong> The answers follow fixed rules. To use a real model, put{" "}
      <code>{key}=…</code> into the project’s <code>.dev.vars</code> and restart. On Cloudflare, run{" "}
      <code>npx wrangler secret put {key}</code>.
    </p>
  );
}
