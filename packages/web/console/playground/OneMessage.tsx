/** One message: its role, text and images, and what tools it calls or answers. */
import { ArrowUp, ImagePlus, X } from "lucide-react";
import { type ChangeEvent, useId, useRef, useState } from "react";
import type { TemplatePart, TemplateMessage, ToolCall } from "../../../../src/agents/prompts/template.ts";
import { readFiles } from "../../chat/composer/attach.ts";
import controls from "../../ui/controls.module.css";
import { IconButton } from "../../ui/Button.tsx";
import { ROLES } from "../../traces/trace/messages.ts";
import work from "../../resources/work.module.css";
import type { Edited } from "./play.ts";
import css from "./playground.module.css";
import { Trouble } from "../../resources/Trouble.tsx";

const CHOICES = Object.entries({ ...ROLES, placeholder: "Placeholder" });

interface Props {
  message: Edited;
  number: number;
  isFirst: boolean;
  onChange: (next: Partial<Edited>) => void;
  onRemove: () => void;
  onUp: () => void;
}

const IMAGES = { list: "image/*", words: "images" };

const textIn = (content: string | TemplatePart[]) =>
  typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("");
const imagesIn = (content: string | TemplatePart[]) =>
  typeof content === "string" ? [] : content.flatMap((part) => (part.type === "image_url" ? [part] : []));

/** A text alone, or the text before its images. */
const buildContent = (text: string, images: TemplatePart[]): string | TemplatePart[] =>
  images.length === 0 ? text : [...(text === "" ? [] : [{ type: "text" as const, text }]), ...images];

export function OneMessage({ message, number, isFirst, onChange, onRemove, onUp }: Props) {
  const id = useId();
  const files = useRef<HTMLInputElement>(null);
  const [trouble, setTrouble] = useState("");
  const { role, content, tool_call_id = "" } = message;
  const text = textIn(content);
  const images = imagesIn(content);
  const attach = async (event: ChangeEvent<HTMLInputElement>) => {
    const given = [...(event.target.files ?? [])];
    event.target.value = "";
    const before = images.map(({ image_url: { url } }) => ({ kind: "image" as const, url, name: "", mime: "" }));
    const { media, refused } = await readFiles(given, IMAGES, before);
    setTrouble(refused);
    const more = media.map(({ url = "" }): TemplatePart => ({ type: "image_url", image_url: { url } }));
    if (more.length > 0) onChange({ content: buildContent(text, [...images, ...more]) });
  };
  return (
    <div className={css.message} role="group" aria-label={`Message ${number}`}>
      <div className={css.bar}>
        <select
          className={`${controls.field} ${work.select}`}
          aria-label={`Role of message ${number}`}
          value={role}
          onChange={(event) => onChange({ role: event.target.value as TemplateMessage["role"] })}
        >
          {CHOICES.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
        <span className={css.space} />
        {role === "human" && (
          <>
            <input ref={files} type="file" accept="image/*" multiple hidden onChange={(event) => void attach(event)} />
            <IconButton label={`Add images to message ${number}`} onClick={() => files.current?.click()}>
              <ImagePlus size={16} aria-hidden />
            </IconButton>
          </>
        )}
        <IconButton label={`Move message ${number} up`} disabled={isFirst} onClick={onUp}>
          <ArrowUp size={16} aria-hidden />
        </IconButton>
        <IconButton label={`Remove message ${number}`} onClick={onRemove}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      <textarea
        className={controls.field}
        aria-label={role === "placeholder" ? `Variable of placeholder ${number}` : `Text of message ${number}`}
        rows={role === "placeholder" ? 1 : Math.min(16, text.split("\n").length + 1)}
        value={text}
        placeholder={role === "placeholder" ? "The name of a variable with a list of messages" : ""}
        onChange={(event) => onChange({ content: buildContent(event.target.value, images) })}
      />
      {images.length > 0 && (
        <ul className={css.images}>
          {images.map((image, at) => (
            // The same image may be there twice.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={at}>
              {image.image_url.url.startsWith("data:") ? (
                <img src={image.image_url.url} alt={`Of message ${number}`} />
              ) : (
                <span>{image.image_url.url}</span>
              )}
              <IconButton
                label={`Remove image ${at + 1} of message ${number}`}
                onClick={() =>
                  onChange({
                    content: buildContent(
                      text,
                      images.filter((one) => one !== image),
                    ),
                  })
                }
              >
                <X size={16} aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <Trouble text={trouble} />
      {role === "ai" && (message.tool_calls?.length ?? 0) > 0 && (
        <ToolCalls
          number={number}
          calls={message.tool_calls ?? []}
          onChange={(calls) => onChange({ tool_calls: calls })}
        />
      )}
      {role === "tool" && (
        <div className={controls.row}>
          <label htmlFor={id} className={controls.label}>
            Answers the call
          </label>
          <input
            id={id}
            className={controls.field}
            value={tool_call_id}
            placeholder="Id of the tool call"
            onChange={(event) => onChange({ tool_call_id: event.target.value })}
          />
        </div>
      )}
    </div>
  );
}

/** The tool calls of an answer, as JSON. What is no list of calls is not kept. */
function ToolCalls({
  number,
  calls,
  onChange,
}: {
  number: number;
  calls: ToolCall[];
  onChange: (calls: ToolCall[]) => void;
}) {
  const id = useId();
  const [text, setText] = useState(() => JSON.stringify(calls, null, 2));
  const isFaulty = read(text) === undefined;
  return (
    <div className={controls.row}>
      <label htmlFor={id} className={controls.label}>
        Tool calls of message {number}
      </label>
      <textarea
        id={id}
        className={`${controls.field} ${controls.json}`}
        rows={Math.min(12, text.split("\n").length)}
        spellCheck={false}
        value={text}
        aria-invalid={isFaulty}
        aria-describedby={isFaulty ? `${id}-note` : undefined}
        onChange={(event) => {
          setText(event.target.value);
          const next = read(event.target.value);
          if (next) onChange(next);
        }}
      />
      {isFaulty && (
        <p id={`${id}-note`} className={controls.error}>
          {'It must be a list of {"id", "name", "args"}. The last such list is sent.'}
        </p>
      )}
    </div>
  );
}

function read(text: string): ToolCall[] | undefined {
  try {
    const list = JSON.parse(text) as unknown;
    return Array.isArray(list) && list.every(isCall) ? list : undefined;
  } catch {
    return undefined;
  }
}

function isCall(value: unknown): value is ToolCall {
  const call = value as Partial<ToolCall> | null;
  return (
    typeof call?.id === "string" && typeof call.name === "string" && typeof call.args === "object" && call.args !== null
  );
}
