<?php

/** Serves the controller of docs/receiving.md with Laravel's requests and routes. EVENTS is the folder of the controller and its route. */

namespace App {
    class EventStore
    {
        /** Stores an event in the folder SEEN. It does nothing when the folder has the id already. */
        public function store(string $id, string $body): void
        {
            $path = getenv('SEEN') . "/$id.json";
            if (file_exists($path)) {
                return;
            }
            if (@file_put_contents($path, $body) !== strlen($body)) {
                throw new \RuntimeException('the folder cannot be written');
            }
        }
    }
}

namespace {
    use Illuminate\Config\Repository;
    use Illuminate\Container\Container;
    use Illuminate\Events\Dispatcher;
    use Illuminate\Http\Request;
    use Illuminate\Routing\Router;
    use Illuminate\Support\Facades\Facade;

    foreach (['Config', 'Events', 'Http', 'Routing'] as $part) {
        require_once "/usr/share/php/Illuminate/$part/autoload.php";
    }

    $app = new Container;
    Container::setInstance($app);
    Facade::setFacadeApplication($app);
    $secret = getenv('WEBHOOK_SECRET') ?: null;
    $app->instance('config', new Repository(['services' => ['agent_session' => ['webhook_secret' => $secret]]]));
    $app->instance('router', new Router(new Dispatcher($app), $app));

    /** Two functions of Laravel's foundation, which needs a whole application. */
    function config(string $name)
    {
        return Container::getInstance()->make('config')->get($name);
    }

    function report(Throwable $error): void
    {
        error_log($error->getMessage());
    }

    require getenv('EVENTS') . '/EventController.php';
    require getenv('EVENTS') . '/api.php';
    $request = Request::capture();
    $app->instance(Request::class, $request);
    $app->make('router')->dispatch($request)->send();
}
