/** The choice of a dataset or a queue, which may be a new one. */
import { useId } from "react";
import controls from "../../ui/controls.module.css";
import { FieldInput } from "../../ui/FieldInput.tsx";
import { createPlace, type Place, type PlaceKind } from "./queries.ts";

/** What is chosen: an id, or the name of a new one. */
export interface Choice {
  id: string;
  name: string;
}

const NEW = "new";
const WORDS: Record<PlaceKind, string> = { dataset: "Dataset", queue: "Queue" };
const storageKey = (kind: PlaceKind) => `weir.collect.${kind}`;

/** The one that was added to last, else the newest. */
export function firstChoice(kind: PlaceKind, places: Place[]): Choice {
  const last = localStorage.getItem(storageKey(kind));
  const id = places.find((place) => place.id === last)?.id ?? places[0]?.id ?? NEW;
  return { id, name: "" };
}

export const isChosen = ({ id, name }: Choice) => id !== NEW || name.trim() !== "";

/** The id of the choice. A new one is created first. */
export async function ensurePlace(kind: PlaceKind, { id, name }: Choice): Promise<string> {
  const place = id === NEW ? (await createPlace(kind, name.trim())).id : id;
  localStorage.setItem(storageKey(kind), place);
  return place;
}

export function PlaceSelect({
  kind,
  places,
  choice,
  onChoice,
}: {
  kind: PlaceKind;
  places: Place[];
  choice: Choice;
  onChoice: (choice: Choice) => void;
}) {
  const id = useId();
  return (
    <>
      <div className={controls.row}>
        <label htmlFor={id} className={controls.label}>
          {WORDS[kind]}
        </label>
        <select
          id={id}
          className={controls.field}
          value={choice.id}
          onChange={(event) => onChoice({ ...choice, id: event.target.value })}
        >
          {places.map((place) => (
            <option key={place.id} value={place.id}>
              {place.name}
            </option>
          ))}
          <option value={NEW}>New {kind}</option>
        </select>
      </div>
      {choice.id === NEW && (
        <FieldInput
          id={`${id}-name`}
          field={{ name: "name", label: `Name of the new ${kind}`, kind: "text" }}
          text={choice.name}
          onText={(name) => onChoice({ ...choice, name })}
        />
      )}
    </>
  );
}
