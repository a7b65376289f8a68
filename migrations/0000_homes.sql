CREATE TABLE `agents` (
	`site_id` integer NOT NULL,
	`id` integer NOT NULL,
	`name` text NOT NULL,
	`status` text NOT NULL,
	PRIMARY KEY(`site_id`, `id`),
	FOREIGN KEY (`site_id`) REFERENCES `home_sites`(`site_id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `app_routes` (
	`appid` text PRIMARY KEY NOT NULL,
	`site_id` integer NOT NULL,
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `apps` (
	`site_id` integer NOT NULL,
	`appid` text NOT NULL,
	`name` text NOT NULL,
	`version` text NOT NULL,
	`secret` text NOT NULL,
	`previous_version` text,
	`previous_secret` text,
	`previous_expires_at` integer,
	`revoked_at` integer,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`site_id`, `appid`),
	FOREIGN KEY (`site_id`) REFERENCES `home_sites`(`site_id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `audit_log` (
	`id` integer PRIMARY KEY NOT NULL,
	`site_id` integer,
	`at` integer NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`subject` text NOT NULL,
	`details` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_log_by_site` ON `audit_log` (`site_id`);--> statement-breakpoint
CREATE TABLE `console_forms` (
	`id` text PRIMARY KEY NOT NULL,
	`session_id` text NOT NULL,
	`location` text,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `console_sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `customers` (
	`site_id` integer NOT NULL,
	`external_id` text NOT NULL,
	`name` text NOT NULL,
	`ip` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`site_id`, `external_id`),
	FOREIGN KEY (`site_id`) REFERENCES `home_sites`(`site_id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `home_sites` (
	`site_id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`status` text NOT NULL,
	`chat_id_floor` integer NOT NULL,
	`revision` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`site_id` integer NOT NULL,
	`appid` text NOT NULL,
	`operation` text NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`session_id` integer NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`site_id`, `appid`, `operation`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `jobs` (
	`name` text PRIMARY KEY NOT NULL,
	`place` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `messages` (
	`site_id` integer NOT NULL,
	`session_id` integer NOT NULL,
	`seq` integer NOT NULL,
	`sender` text NOT NULL,
	`sender_uid` integer,
	`content` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`site_id`, `session_id`, `seq`),
	FOREIGN KEY (`site_id`,`session_id`) REFERENCES `sessions`(`site_id`,`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `nonces` (
	`site_id` integer NOT NULL,
	`appid` text NOT NULL,
	`ranstr` text NOT NULL,
	`owner` text NOT NULL,
	`attempt` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`outcome` text NOT NULL,
	`session_id` integer,
	PRIMARY KEY(`site_id`, `appid`, `ranstr`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `participants` (
	`site_id` integer NOT NULL,
	`session_id` integer NOT NULL,
	`agent_id` integer NOT NULL,
	`added_by` integer NOT NULL,
	`added_at` integer NOT NULL,
	PRIMARY KEY(`site_id`, `session_id`, `agent_id`),
	FOREIGN KEY (`site_id`,`session_id`) REFERENCES `sessions`(`site_id`,`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sessions` (
	`site_id` integer NOT NULL,
	`id` integer NOT NULL,
	`appid` text NOT NULL,
	`kind` text NOT NULL,
	`customer_external_id` text NOT NULL,
	`responsible_agent_id` integer,
	`status` text NOT NULL,
	`visitor_title` text,
	`agent_title` text,
	`auto_title` text NOT NULL,
	`created_at` integer NOT NULL,
	`metadata` text,
	PRIMARY KEY(`site_id`, `id`),
	FOREIGN KEY (`site_id`,`customer_external_id`) REFERENCES `customers`(`site_id`,`external_id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `sessions_by_status` ON `sessions` (`site_id`,`status`);--> statement-breakpoint
CREATE INDEX `sessions_by_customer` ON `sessions` (`site_id`,`customer_external_id`);--> statement-breakpoint
CREATE TABLE `sites` (
	`id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`home` text NOT NULL,
	`first_chat_id` integer NOT NULL,
	`status` text NOT NULL,
	`revision` integer NOT NULL,
	`created_at` integer NOT NULL
);

