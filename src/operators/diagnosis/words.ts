/**
 * A text for a reader: in English, with `{0}`, `{1}`, … for the values. The English text is also the key of its translation. All of
 * them are in all-words.ts.
 */
export interface Words {
  words: string;
  values?: readonly TextValue[];
}

/** A value in a text: a string or number as it is, another text, a list of texts, or a time in Unix seconds. */
export type TextValue = string | number | Words | { list: readonly Words[] } | { at: number };

/** One result of a check. `name` is for programs. */
export interface Finding extends Words {
  name: string;
}

/** How a surface writes: in which language, and how it shows a time given in Unix seconds. */
export interface Voice {
  t: (english: string, ...values: (string | number | undefined)[]) => string;
  time: (seconds: number) => string;
}

export const LIST_WORDS = [", "];

/** A text with its values, in the language of a surface. */
export function sentenceOf(voice: Voice, { words, values = [] }: Words): string {
  return voice.t(words, ...values.map((value) => valueText(voice, value)));
}

function valueText(voice: Voice, value: TextValue): string | number {
  if (typeof value !== "object") return value;
  if ("words" in value) return sentenceOf(voice, value);
  if ("list" in value) return value.list.map((each) => sentenceOf(voice, each)).join(voice.t(", "));
  return voice.time(value.at);
}

export const english: Voice = {
  t: (text, ...values) => text.replace(/\{(\d)\}/g, (_, index) => String(values[Number(index)])),
  time: (seconds) => new Date(seconds * 1000).toISOString(),
};
