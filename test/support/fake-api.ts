export interface Call {
  method: string;
  path: string;
  searchParams: URLSearchParams;
  body: Buffer;
  contentType: string;
}

export interface Reply {
  status?: number;
  result?: unknown;
  errors?: { code: number; message: string }[];
}

export const failure = (status: number, code: number, message: string): Reply => ({
  status,
  errors: [{ code, message }],
});
