CREATE TABLE `agents` (
	`site_id` integer NOT NULL,
	`id` integer NOT NULL,
	`name` text NOT NULL,
	`status` text NOT NULL,
	PRIMARY KEY(`site_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `apps` (
	`appid` text PRIMARY KEY NOT NULL,
	`site_id` integer NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`secret` text NOT NULL,
	`previous_secret` text,
	`previous_expires_at` integer,
	`revoked_at` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `apps_by_site` ON `apps` (`site_id`);--> statement-breakpoint
CREATE TABLE `customers` (
	`id` integer PRIMARY KEY NOT NULL,
	`site_id` integer NOT NULL,
	`external_id` text NOT NULL,
	`name` text NOT NULL,
	`ip` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `customers_by_external_id` ON `customers` (`site_id`,`external_id`);--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`appid` text NOT NULL,
	`operation` text NOT NULL,
	`key` text NOT NULL,
	`meaning` text NOT NULL,
	`session_id` integer NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`appid`, `operation`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `messages` (
	`session_id` integer NOT NULL,
	`seq` integer NOT NULL,
	`sender` text NOT NULL,
	`sender_uid` integer,
	`content` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`session_id`, `seq`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `nonces` (
	`appid` text NOT NULL,
	`ranstr` text NOT NULL,
	`owner` text NOT NULL,
	`expires_at` integer NOT NULL,
	`outcome` text NOT NULL,
	`session_id` integer,
	PRIMARY KEY(`appid`, `ranstr`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `participants` (
	`session_id` integer NOT NULL,
	`agent_id` integer NOT NULL,
	`added_by` integer NOT NULL,
	`added_at` integer NOT NULL,
	PRIMARY KEY(`session_id`, `agent_id`),
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` integer PRIMARY KEY NOT NULL,
	`site_id` integer NOT NULL,
	`kind` text NOT NULL,
	`customer_id` integer NOT NULL,
	`responsible_agent_id` integer,
	`status` text NOT NULL,
	`visitor_title` text,
	`agent_title` text,
	`auto_title` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`customer_id`) REFERENCES `customers`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `sessions_by_site` ON `sessions` (`site_id`,`status`);--> statement-breakpoint
CREATE TABLE `sites` (
	`id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL
);
