/** The search: words, or a filter. Each condition is a chip that can be removed. A faulty filter changes nothing. */
import { Search as Glass, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ApiError, call } from "../../api/http.ts";
import { Fault } from "../../resources/FilterInput.tsx";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { FACETS } from "./facets.ts";
import css from "./list.module.css";
import type { Wanted } from "../types.ts";

/** A filter is a call: `eq(name, "x")`. Everything else is words. */
const FILTER = /^\s*[a-z_]+\s*\(/i;

export function Search({ wanted, onChange }: { wanted: Wanted; onChange: (changes: Record<string, string>) => void }) {
  const [text, setText] = useState("");
  const [fault, setFault] = useState<{ filter: string; message: string }>();
  const submit = async () => {
    const given = text.trim();
    if (given === "") return;
    if (!FILTER.test(given)) {
      setText("");
      return onChange({ q: given, peek: "" });
    }
    try {
      await call("POST", "/api/v1/runs/query/validate", { filter: given });
      setText("");
      onChange({ filter: given, peek: "" });
    } catch (error) {
      setFault({
        filter: given,
        message: error instanceof ApiError ? error.message : "The filter was not understood.",
      });
    }
  };
  return (
    <>
      <form
        role="search"
        aria-label="Traces"
        className={css.search}
        onSubmit={(event) => {
          event.preventDefault();
          setFault(undefined);
          void submit();
        }}
      >
        <Glass size={16} aria-hidden />
        <input
          className={controls.field}
          aria-label="Words or a filter"
          placeholder='Words, or a filter such as gt(latency, "5s")'
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          value={text}
          aria-invalid={fault !== undefined}
          aria-describedby={fault ? "fault" : undefined}
          onChange={(event) => {
            setText(event.target.value);
            setFault(undefined);
          }}
        />
        <Button type="submit">Search</Button>
      </form>
      <div className={css.chips} role="group" aria-label="Conditions">
        <Chip pressed={wanted.failed} onPress={() => onChange({ failed: wanted.failed ? "" : "1", peek: "" })}>
          Failed only
        </Chip>
        <Chip pressed={!wanted.all} onPress={() => onChange({ all: wanted.all ? "" : "1", peek: "" })}>
          Whole traces
        </Chip>
        {FACETS.map((facet) => {
          const value = wanted.facets[facet];
          return (
            value !== undefined && (
              <Condition key={facet} name={`${facet}: ${value}`} onRemove={() => onChange({ [facet]: "" })} />
            )
          );
        })}
        {wanted.words !== "" && (
          <Condition
            name={`“${wanted.words}”`}
            onEdit={() => setText(wanted.words)}
            onRemove={() => onChange({ q: "" })}
          />
        )}
        {wanted.filter !== "" && (
          <Condition
            name={wanted.filter}
            onEdit={() => setText(wanted.filter)}
            onRemove={() => onChange({ filter: "" })}
          />
        )}
      </div>
      {fault && <Fault id="fault" {...fault} />}
    </>
  );
}

function Chip({ pressed, onPress, children }: { pressed: boolean; onPress: () => void; children: ReactNode }) {
  return (
    <button type="button" className={css.chip} aria-pressed={pressed} onClick={onPress}>
      {children}
    </button>
  );
}

function Condition({ name, onEdit, onRemove }: { name: string; onEdit?: () => void; onRemove: () => void }) {
  return (
    <span className={css.condition}>
      {onEdit ? (
        <button type="button" title="Edit" onClick={onEdit}>
          {name}
        </button>
      ) : (
        <span>{name}</span>
      )}
      <button type="button" aria-label={`Remove ${name}`} onClick={onRemove}>
        <X size={14} aria-hidden />
      </button>
    </span>
  );
}
