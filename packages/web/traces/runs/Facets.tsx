/** The facets beside the list: the values that its traces have, with how many have each. */
import { type ReactNode, useState } from "react";
import controls from "../../ui/controls.module.css";
import type { Range } from "../../resources/range.ts";
import css from "./facets.module.css";
import { type Chosen, type Facet, LATENCIES, STATUSES } from "./facets.ts";
import { countText } from "../../ui/format.ts";
import { type Course, GROUPS, useGroups, type Value } from "./metrics.ts";
import type { Wanted } from "../types.ts";

const LIMIT = 8;

export function Facets({
  wanted,
  range,
  course,
  onChoose,
}: {
  wanted: Wanted;
  range: Range;
  /** The runs that are listed and those that follow, by time, with their names. */
  course: Course | undefined;
  onChoose: (facet: Facet, value: string) => void;
}) {
  const { facets } = wanted;
  const total = course?.total;
  // The names are counted with the course, unless one of them is chosen: then its own facet has others.
  const others = useGroups(wanted, range, "name", facets.name !== undefined);
  const names = facets.name === undefined ? course?.groups : others.data;
  const models = useGroups(wanted, range, "model");
  const tags = useGroups(wanted, range, "tag");
  const users = useGroups(wanted, range, "user");
  const feedback = useGroups(wanted, range, "feedback");
  // All counts come together, below the known values: nothing moves.
  const isCounted = names !== undefined && ![models, tags, users, feedback].some(({ isPending }) => isPending);
  const statuses: Record<(typeof STATUSES)[number], number | undefined> = {
    success: total && total.run_count - total.error_count - total.pending_count,
    error: total?.error_count,
    pending: total?.pending_count,
  };
  const shared = { facets, onChoose };
  return (
    <section className={css.facets} aria-label="Filters">
      <Group {...shared} facet="status" name="Status" values={STATUSES.map((key) => ({ key, count: statuses[key] }))} />
      <Group
        {...shared}
        facet="latency"
        name="Latency"
        values={LATENCIES.map((key) => ({ key }))}
        word={(key) => `> ${key.slice(0, -1)} s`}
      />
      {isCounted && (
        <>
          <Group {...shared} facet="name" name="Name" values={names} />
          <Group {...shared} facet="model" name="Model" values={models.data} />
          <Group {...shared} facet="tag" name="Tag" values={tags.data} />
          <Group {...shared} facet="user" name="User" values={users.data} />
          {(users.data?.length ?? 0) >= GROUPS && (
            <OtherUser key={facets.user ?? ""} user={facets.user ?? ""} onChoose={(user) => onChoose("user", user)} />
          )}
          <Group
            {...shared}
            facet="feedback"
            name="Feedback"
            values={orderFeedback(feedback.data ?? [])}
            word={(key) => key.replace(/(>=|<)(?=0\.5$)/, " $1 ").replace(">=", "≥")}
          />
        </>
      )}
    </section>
  );
}

function Group({
  facet,
  name,
  values = [],
  facets,
  word = (key) => key,
  onChoose,
}: {
  facet: Facet;
  name: string;
  values: { key: string; count?: number | undefined }[] | undefined;
  facets: Chosen;
  word?: (key: string) => string;
  onChoose: (facet: Facet, value: string) => void;
}): ReactNode {
  const [all, setAll] = useState(false);
  const chosen = facets[facet];
  // A value of the address that no run has is still shown: it can be taken away.
  const given =
    chosen === undefined || values.some(({ key }) => key === chosen) ? values : [{ key: chosen }, ...values];
  if (given.length === 0) return null;
  return (
    <fieldset className={css.group}>
      <legend>{name}</legend>
      {given.slice(0, all ? undefined : LIMIT).map(({ key, count }) => (
        <button
          key={key}
          type="button"
          className={css.value}
          aria-pressed={chosen === key}
          title={word(key)}
          onClick={() => onChoose(facet, chosen === key ? "" : key)}
        >
          <span className="line">{word(key)}</span>
          {count !== undefined && <small>{countText(count)}</small>}
        </button>
      ))}
      {given.length > LIMIT && (
        <button type="button" className={css.more} onClick={() => setAll(!all)}>
          {all ? "Fewer" : `${given.length - LIMIT} more`}
        </button>
      )}
    </fieldset>
  );
}

/** The halves of a scale behind its key. */
const orderFeedback = (values: Value[]) =>
  values.flatMap((value) => {
    if (/(>=|<)0\.5$/.test(value.key)) return [];
    return [value, ...values.filter(({ key }) => key === `${value.key}>=0.5` || key === `${value.key}<0.5`)];
  });

/** There are more users than are shown. */
function OtherUser({ user, onChoose }: { user: string; onChoose: (user: string) => void }) {
  const [text, setText] = useState(user);
  return (
    <form
      className={css.group}
      onSubmit={(event) => {
        event.preventDefault();
        onChoose(text.trim());
      }}
    >
      <label className={css.user}>
        Another user
        <input
          className={controls.field}
          placeholder="user_id of the metadata"
          autoComplete="off"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => text.trim() !== user && onChoose(text.trim())}
        />
      </label>
    </form>
  );
}
