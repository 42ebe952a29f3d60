"""Both rounds of a confirmation without a transport, against the SDK's client and server in one."""

from collections.abc import Iterator

from anyio.from_thread import start_blocking_portal

from bench.endless import USER, endless_server
from bench.peers import named, sdk_server
from bench.rounds import ANSWER, ARGUMENTS, first, must_have_deleted, second
from bench.side_by_side import Row, compare

SUMMARY = "two-round confirmations in one process"


def rows() -> Iterator[Row]:
    """Yield one row. Ours takes and gives the bytes of JSON; the SDK's pair passes objects."""
    from mcp import Client
    from mcp.types import ElicitResult

    server, _ = endless_server()
    yes = {"delete_choice": ElicitResult.model_validate(ANSWER["delete_choice"])}

    def ours(times: int) -> None:
        for _ in range(times):
            asked = server.answer_line(first(), USER)
            must_have_deleted(server.answer_line(second(asked), USER))

    async def theirs(client: Client, times: int) -> None:
        for _ in range(times):
            asked = await client.session.call_tool(
                "notes_delete", ARGUMENTS, allow_input_required=True
            )
            end = await client.session.call_tool(
                "notes_delete", ARGUMENTS, input_responses=yes, request_state=asked.request_state
            )
            must_have_deleted(end.model_dump_json().encode())

    async def never(context: object, params: object) -> ElicitResult:
        raise AssertionError("The session asks for input itself.")

    paired = Client(sdk_server(), elicitation_callback=never)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(paired) as client:
        measured = compare(ours, lambda times: portal.call(theirs, client, times))
        yield Row("confirmations in process", named("mcp"), *measured, least=2.5)
