import type { StepName } from "../../operators/diagnosis/check-form.ts";
import type { Language } from "./texts.ts";

/** The texts of the page. The texts of findings are in src/operators/diagnosis, and their translations in src/assets/console/zh.json. */
export const PAGE_TEXTS = {
  en: {
    title: "Check a refused request",
    lead: "Paste a request as it was sent. This page says what the server answers to it, and why.",
    promise:
      "Nothing leaves this page. The check runs in your browser, and the page's policy lets it open no connection and send no form: see connect-src 'none' in its headers.",
    noscript:
      "The check needs a browser with JavaScript. Without one, use npm run call -- check in the service's repository.",
    operation: "Which call is it?",
    body: "Body, as it was sent",
    bodyHint:
      "A text field does not keep line breaks as they were, so each kind is tried. For the exact bytes, choose a file.",
    file: "Or the body as a file",
    signature: "Signature (x-chat-signature)",
    secret: "Secret of the app",
    show: "Show",
    appid: "appid, as the operator gave it",
    appidHint: "May be left empty. It is compared with the one in the body.",
    more: "Headers and tolerance",
    contentType: "Content-Type",
    contentTypeHint: "Empty: not known.",
    noContentType: "It was not sent",
    contentEncoding: "Content-Encoding, if it was sent",
    idempotencyKey: "Idempotency-Key, if it was sent",
    tolerance: "Seconds that a timestamp may be off",
    toleranceHint: "300 unless the operator set another tolerance.",
    check: "Check",
    result: "Result",
  },
  zh: {
    title: "检查被拒绝的请求",
    lead: "把请求按发送时的原样粘贴到这里，本页会告诉您服务器会怎样响应，以及为什么。",
    promise:
      "任何内容都不会离开本页。检查在您的浏览器中进行，页面的安全策略禁止一切连接和表单提交：可在响应头中看到 connect-src 'none'。",
    noscript: "检查需要支持 JavaScript 的浏览器。如果没有，请在本服务的代码库中使用 npm run call -- check。",
    operation: "调用的是哪个接口？",
    body: "请求体（按发送时的原样）",
    bodyHint: "文本框会改变换行符，所以各种换行符都会试一遍。要检查确切的字节，请选择文件。",
    file: "或者用文件提供请求体",
    signature: "签名（x-chat-signature）",
    secret: "应用的密钥",
    show: "显示",
    appid: "运维方给出的 appid",
    appidHint: "可留空。会与请求体中的 appid 比较。",
    more: "请求头与时间容差",
    contentType: "Content-Type",
    contentTypeHint: "留空表示不确定。",
    noContentType: "没有发送",
    contentEncoding: "Content-Encoding（如果发送了）",
    idempotencyKey: "Idempotency-Key（如果发送了）",
    tolerance: "timestamp 允许相差的秒数",
    toleranceHint: "除非运维方另有设置，否则为 300。",
    check: "检查",
    result: "结果",
  },
} satisfies Record<Language, Record<string, string>>;

interface ScriptTexts {
  show: string;
  hide: string;
  accepted: string;
  refused: string;
  freshAccepted: string;
  freshRefused: string;
  cause: string;
  also: string;
  fine: string;
  insecure: string;
  steps: Record<StepName, string>;
}

/** The texts that the page's script shows. `npm run call -- check` prints the English ones. */
export const SCRIPT_TEXTS: Record<Language, ScriptTexts> = {
  en: {
    show: "Show",
    hide: "Hide",
    accepted: "The server accepts this request, as far as a caller can know.",
    refused: "The server refuses this request: {0} {1}",
    freshAccepted: "With a fresh timestamp it accepts it.",
    freshRefused: "With a fresh timestamp it refuses it too: {0} {1}",
    cause: "Cause: ",
    also: "Also: ",
    fine: "What is fine, or was not checked",
    insecure: "The check works only when this page comes from an https address, or from this machine.",
    steps: {
      content_type: "Content-Type",
      content_encoding: "Content-Encoding",
      size: "Size",
      body: "Body",
      appid: "appid",
      signature: "Signature",
      timestamp: "timestamp and ranstr",
      server: "Not known here",
      fields: "Fields",
      idempotency_key: "Idempotency-Key",
    },
  },
  zh: {
    show: "显示",
    hide: "隐藏",
    accepted: "仅凭以上内容判断，服务器会接受此请求。",
    refused: "服务器会拒绝此请求：{0} {1}",
    freshAccepted: "换成当前的 timestamp，服务器就会接受。",
    freshRefused: "换成当前的 timestamp，服务器也会拒绝：{0} {1}",
    cause: "原因：",
    also: "此外：",
    fine: "没有问题或未检查的部分",
    insecure: "检查需要通过 https 地址（或从本机）打开本页。",
    steps: {
      content_type: "Content-Type",
      content_encoding: "Content-Encoding",
      size: "大小",
      body: "请求体",
      appid: "appid",
      signature: "签名",
      timestamp: "timestamp 和 ranstr",
      server: "这里无法判断的",
      fields: "字段",
      idempotency_key: "Idempotency-Key",
    },
  },
};
