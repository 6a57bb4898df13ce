/** A list with nothing in it says what to do about it. */
import { LONGEST } from "../../resources/range.ts";
import { SERVER, writeTracing } from "../../api/server.ts";
import { Link } from "wouter";
import { Fault } from "../../resources/FilterInput.tsx";
import { Empty } from "../../resources/states.tsx";
import { Button } from "../../ui/Button.tsx";
import css from "./list.module.css";

export function HowToSend() {
  return (
    <Empty
      title="No traces here yet."
      text="To send traces from a program that uses a LangSmith SDK, set these variables:"
      command={writeTracing()}
    >
      <p>
        An OpenTelemetry exporter sends them to <code>{SERVER}/otel/v1/traces</code>, with the key in the header{" "}
        <code>x-api-key</code>. <Link href="/console/keys/new">Create an API key</Link>
      </p>
      <p>
        Agents on this server are traced automatically. <Link href="/chat">Talk to an agent</Link>
      </p>
    </Empty>
  );
}

export function NoMatch({
  kind,
  range,
  onClear,
  onLonger,
}: {
  /** Whether conditions leave nothing, or there is nothing in this time range. */
  kind: "no match" | "none";
  range: string;
  onClear: () => void;
  /** Undefined: the range is the longest. */
  onLonger: (() => void) | undefined;
}) {
  return (
    <Empty
      title={kind === "none" ? "No traces in this time range." : "No traces match this filter."}
      text={`${range}. The project may have older traces.`}
    >
      <div className={css.acts}>
        {kind === "no match" && <Button onClick={onClear}>Clear filters</Button>}
        {onLonger && <Button onClick={onLonger}>Show the {LONGEST.name}</Button>}
      </div>
    </Empty>
  );
}

/** An address with a filter that the server does not understand. */
export function BadFilter({ filter, message, onClear }: { filter: string; message: string; onClear: () => void }) {
  return (
    <Empty title="The filter of this address has a fault." text="Correct it above, or clear it.">
      <Fault filter={filter} message={message} />
      <Button onClick={onClear}>Clear filters</Button>
    </Empty>
  );
}
