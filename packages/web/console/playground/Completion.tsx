/** The completion of a column, its time, tokens and cost, and a link to its trace. */
import { Link } from "wouter";
import { State } from "../../resources/State.tsx";
import { Button } from "../../ui/Button.tsx";
import { costText, countText, durationText, tokensText } from "../../ui/format.ts";
import { Payload, useCut } from "../../ui/Payload.tsx";
import css from "./playground.module.css";
import type { Result } from "./result.ts";
import { Trouble } from "../../resources/Trouble.tsx";

const LINES = 200;

const STATES = {
  running: ["running", "Answering."],
  done: ["success", "Answered."],
  failed: ["error", "Failed."],
  stopped: ["stopped", "Stopped."],
} as const;

export function Answer({ result, number, onContinue }: { result: Result; number: number; onContinue: () => void }) {
  const { state, text, reasoning, calls, trouble, run } = result;
  const [shown, rest] = useCut(text, `answer-${number}`, LINES);
  const [dot, word] = STATES[state];
  const hasAnswer = text !== "" || calls.length > 0;
  return (
    <div className={css.answer}>
      <p className={css.figures}>
        <span role="status">
          <State state={dot} word={word} />
        </span>
        <Metrics result={result} />
      </p>
      {reasoning !== "" && <Payload label={`Reasoning of column ${number}`} text={reasoning} />}
      {text !== "" && (
        <p className={css.text} data-answer>
          {shown}
        </p>
      )}
      {rest}
      {calls.map((call, at) => (
        // Calls do not change their order.
        // oxlint-disable-next-line react/no-array-index-key
        <Payload key={at} label={`Calls ${call.name}`} text={call.args} />
      ))}
      <Trouble text={trouble} />
      {state !== "running" && (
        <p className={css.figures}>
          {run !== undefined && <Link href={`/traces/${run}`}>Open trace</Link>}
          {hasAnswer && (
            <Button look="quiet" onClick={onContinue}>
              Add to messages
            </Button>
          )}
        </p>
      )}
    </div>
  );
}

function Metrics({ result: { tokens, cost, seconds, firstSeconds } }: { result: Result }) {
  return (
    <>
      {seconds !== undefined && <span>{durationText(seconds)}</span>}
      {firstSeconds !== undefined && <span>first token after {durationText(firstSeconds)}</span>}
      {tokens && (
        <span>
          {tokensText(tokens.input + tokens.output)}: {countText(tokens.input)} in, {countText(tokens.output)} out
        </span>
      )}
      {cost !== undefined && <span>{costText(cost)}</span>}
    </>
  );
}
