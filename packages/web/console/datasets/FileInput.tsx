/** The choice of a file with examples, and of what its columns are. */
import { useId, useState } from "react";
import controls from "../../ui/controls.module.css";
import { columnsIn, type FileColumns, buildMapping, type Part } from "./columns.ts";
import css from "./datasets.module.css";
import type { Mapping } from "./queries.ts";

export interface ChosenFile {
  file: File;
  mapping: Mapping;
  /** It has columns, and none of them is an input. */
  incomplete: boolean;
}

const PARTS: [part: Part, words: string][] = [
  ["inputs", "Input"],
  ["outputs", "Expected output"],
  ["metadata", "Metadata"],
  ["none", "Left out"],
];

export function FileInput({
  label,
  help,
  onFile,
}: {
  label: string;
  help: string;
  onFile: (file?: ChosenFile) => void;
}) {
  const id = useId();
  const [file, setFile] = useState<File>();
  const [columns, setColumns] = useState<FileColumns>();
  const [trouble, setTrouble] = useState("");
  const give = (given: File, now: FileColumns) => {
    setColumns(now);
    const mapping = buildMapping(now);
    onFile({ file: given, mapping, incomplete: now.names.length > 0 && mapping.inputs.length === 0 });
  };
  const choose = async (given: File | undefined) => {
    setFile(given);
    setColumns(undefined);
    setTrouble("");
    onFile(undefined);
    if (!given) return;
    try {
      give(given, await columnsIn(given));
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : "The file cannot be read.");
    }
  };
  return (
    <>
      <div className={controls.row}>
        <label htmlFor={`${id}-file`} className={controls.label}>
          {label}
        </label>
        <input
          id={`${id}-file`}
          type="file"
          className={controls.field}
          accept=".csv,.jsonl,.ndjson"
          aria-invalid={trouble !== ""}
          aria-describedby={`${id}-note`}
          onChange={(event) => void choose(event.target.files?.[0])}
        />
        <p id={`${id}-note`} className={trouble === "" ? controls.help : controls.error}>
          {trouble === "" ? help : trouble}
        </p>
      </div>
      {file && columns && columns.names.length > 0 && (
        <fieldset className={css.columns}>
          <legend>Columns of the file</legend>
          {columns.names.map((name) => (
            <label key={name}>
              <span>{name}</span>
              <select
                className={controls.field}
                value={columns.parts[name]}
                onChange={(event) =>
                  give(file, { ...columns, parts: { ...columns.parts, [name]: event.target.value as Part } })
                }
              >
                {PARTS.map(([part, words]) => (
                  <option key={part} value={part}>
                    {words}
                  </option>
                ))}
              </select>
            </label>
          ))}
        </fieldset>
      )}
    </>
  );
}
