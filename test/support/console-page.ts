/**
 * A page of the console, as a person uses it: a test finds things by their text, fills in forms, and sends them as a browser does.
 */

/** The request that a browser would send. */
interface Submission {
  method: "GET" | "POST";
  /** Path and query; the query of a GET holds the fields. */
  path: string;
  /** The fields of a POST, such as `a=1&b=`. */
  body: string | undefined;
}

interface Control {
  tag: "input" | "select" | "textarea" | "button";
  type: string;
  name: string | undefined;
  value: string;
  options: string[];
  checked: boolean;
  disabled: boolean;
  /** The name that a reader sees: a control's label, or a button's own text. */
  label: string;
  attributes: Record<string, string>;
}

interface Form {
  id: string | undefined;
  method: string;
  action: string | undefined;
  controls: Control[];
}

export class ConsolePage {
  readonly status: number;
  readonly headers: Headers;
  /** The path and query of the request for this page. */
  readonly path: string;
  readonly html: string;
  #read: Form[] | undefined;

  private constructor(answer: Response, path: string, html: string) {
    this.status = answer.status;
    this.headers = answer.headers;
    this.path = path;
    this.html = html;
  }

  /** @param path path and query of the request, where a form without an action goes */
  static async read(answer: Response, path: string): Promise<ConsolePage> {
    return new ConsolePage(answer, path, await answer.text());
  }

  /** The forms are read at the first use, because most tests use no form of a page. */
  get #forms(): Form[] {
    this.#read ??= readForms(this.html);
    return this.#read;
  }

  /** The text that a reader sees, without marks. */
  get text(): string {
    return plain(this.html.replace(/^.*<body>/s, ""));
  }

  get heading(): string {
    return plain(/<h1[^>]*>(.*?)<\/h1>/s.exec(this.html)?.[1] ?? "");
  }

  get notices(): string[] {
    return [...this.html.matchAll(/<section class="notice [^>]*><h2>(.*?)<\/h2>/gs)].map(([, title]) =>
      plain(title ?? ""),
    );
  }

  /** The texts of its tables' cells, row by row. */
  get rows(): string[][] {
    return [...this.html.matchAll(/<tr[^>]*>(<th scope="row">.*?)<\/tr>/gs)].map(([, row = ""]) =>
      [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = ""]) => plain(cell)),
    );
  }

  link(text: string): string {
    for (const [, attributes = "", inner = ""] of this.html.matchAll(/<a ([^>]*)>(.*?)<\/a>/gs)) {
      if (plain(inner) === text) return decodeEntities(/href="([^"]*)"/.exec(attributes)?.[1] ?? "");
    }
    throw new Error(`${this.path} has no link “${text}”`);
  }

  /** The text beside a term in the page's list of facts; undefined without the term. */
  fact(term: string): string | undefined {
    const all = [...this.html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)];
    const fact = all.find(([, name = ""]) => plain(name) === term);
    return fact && plain(fact[2] ?? "");
  }

  /** The exact text of the code or payload with this id. */
  code(id: string): string {
    return decodeEntities(new RegExp(`<(code|pre) id="${id}">(.*?)</\\1>`, "s").exec(this.html)?.[2] ?? "");
  }

  /** The error of a field: the text beside it, to which the notice's link with the field's label leads. */
  error(label: string): string {
    const id = this.link(label).slice(1);
    const [, text] = new RegExp(`<p class="error" id="${id}-error">(.*?)</p>`, "s").exec(this.html) ?? [];
    if (text === undefined) throw new Error(`${this.path} says nothing at “${label}”`);
    return plain(text);
  }

  /** The initial value of a control. An unticked box has none. */
  value(label: string): string {
    const all = this.#forms.flatMap(({ controls }) => controls);
    const control = all.find((each) => each.tag !== "button" && isCalled(each, label));
    if (control === undefined) throw new Error(`${this.path} has no field “${label}”`);
    return sentValue(control);
  }

  /** The targets of its links, without links to places in the page itself. */
  get links(): string[] {
    const all = [...this.html.matchAll(/<a [^>]*?href="([^"]*)"/g)].map(([, href = ""]) => decodeEntities(href));
    return all.filter((href) => !href.startsWith("#"));
  }

  get forms(): { method: "GET" | "POST"; path: string }[] {
    return this.#forms.map(({ method, action }) => ({
      method: method === "post" ? "POST" : "GET",
      path: action ?? this.path,
    }));
  }

  has(button: string): boolean {
    return this.#forms.some(({ controls }) => controls.some((each) => isSubmit(each) && each.label === button));
  }

  /**
   * What a browser sends when a button is pressed: each control of the form that HTML calls successful, also empty and hidden ones.
   *
   * @param button its whole text, including the part for screen readers
   * @param fill values by label, or by name where there is no label; an empty value unticks a box
   */
  submission(button: string, fill: Record<string, string> = {}): Submission {
    const form = this.#forms.find(({ controls }) => controls.some((each) => isSubmit(each) && each.label === button));
    const trigger = form?.controls.find((each) => isSubmit(each) && each.label === button);
    if (form === undefined || trigger === undefined) throw new Error(`${this.path} has no button “${button}”`);
    const values = new Map(form.controls.map((control) => [control, sentValue(control)]));
    for (const [label, value] of Object.entries(fill)) {
      const control = form.controls.find((each) => each.tag !== "button" && isCalled(each, label));
      if (control === undefined) throw new Error(`the form of “${button}” has no field “${label}”`);
      if (control.tag === "select" && !control.options.includes(value)) throw new Error(`${label} has no ${value}`);
      values.set(control, value);
    }
    const fields = new URLSearchParams();
    for (const control of form.controls) {
      if (control.name === undefined || control.disabled || (control.tag === "button" && control !== trigger)) continue;
      if (isBox(control) && values.get(control) === "") continue;
      // A browser sends CRLF for every line end of a form.
      fields.append(control.name, (values.get(control) ?? "").replace(/\r\n|\r|\n/g, "\r\n"));
    }
    const action = trigger.attributes.formaction ?? form.action ?? this.path;
    const { pathname, search } = new URL(action, `https://worker${this.path}`);
    if ((trigger.attributes.formmethod ?? form.method).toLowerCase() !== "post") {
      return { method: "GET", path: `${pathname}?${fields}`, body: undefined };
    }
    return { method: "POST", path: pathname + search, body: fields.toString() };
  }
}

const isBox = ({ type }: Control) => /^(checkbox|radio)$/.test(type);
const sentValue = (control: Control) => (isBox(control) && !control.checked ? "" : control.value);
const isSubmit = ({ tag, type }: Control) => tag === "button" && type !== "button";
const isCalled = ({ label, name, type }: Control, words: string) =>
  label === words || (name === words && (label === "" || type === "hidden"));

/**
 * Reads only HTML that JSX writes: values in double quotes, without a bare `>`. HTMLRewriter would take a quarter of a page's time.
 */
function readForms(html: string): Form[] {
  const forms: Form[] = [];
  const free: { control: Control; form: string }[] = [];
  const labels = new Map<string, string>();
  let form: Form | undefined;
  let select: Control | undefined;
  for (const match of html.matchAll(/<(\/form|form|label|input|select|option|textarea|button)\b([^>]*)>/g)) {
    const [mark, tag = "", attributeText = ""] = match;
    const pairs = [...attributeText.matchAll(/([\w-]+)(?:="([^"]*)")?/g)];
    const attributes: Record<string, string> = Object.fromEntries(
      pairs.map(([, name = "", value = ""]) => [name, decodeEntities(value)]),
    );
    const from = match.index + mark.length;
    const text = () => decodeEntities(html.slice(from, html.indexOf(`</${tag}>`, from)).replace(/<[^>]*>/g, ""));
    if (tag === "/form") form = undefined;
    else if (tag === "form") {
      const { id, method = "get", action } = attributes;
      form = { id, method, action, controls: [] };
      forms.push(form);
    } else if (tag === "label") labels.set(attributes.for ?? "", text().trim());
    else if (tag === "option") {
      const option = attributes.value ?? text().trim();
      if (select === undefined) continue;
      if ("selected" in attributes || select.options.length === 0) select.value = option;
      select.options.push(option);
    } else {
      const control: Control = {
        tag: tag as Control["tag"],
        type: attributes.type ?? "",
        name: attributes.name,
        value: attributes.value ?? (attributes.type === "checkbox" ? "on" : ""),
        options: [],
        checked: "checked" in attributes,
        disabled: "disabled" in attributes,
        label: tag === "button" ? text().replace(/\s+/g, " ").trim() : "",
        attributes,
      };
      if (tag === "textarea") control.value = text().replace(/^\n/, "");
      if (tag === "select") select = control;
      if (attributes.form !== undefined) free.push({ control, form: attributes.form });
      else form?.controls.push(control);
    }
  }
  for (const { control, form: id } of free) forms.find((each) => each.id === id)?.controls.push(control);
  for (const { controls } of forms) {
    for (const control of controls) {
      if (control.tag !== "button") control.label = labels.get(control.attributes.id ?? "") ?? "";
    }
  }
  return forms;
}

/** The text of HTML without tags, with blanks as a browser shows them. */
export function plain(html: string): string {
  return decodeEntities(html.replace(/<[^>]*>/g, " "))
    .replace(/\s+/g, " ")
    .trim();
}

function decodeEntities(text: string): string {
  return text
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&amp;/g, "&");
}
