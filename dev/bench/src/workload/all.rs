use super::environment::Workload;
use super::{
    contended, day_later, growth, handoff, held, in_process, kinds, nested, network, nodes,
    overhead, passes, sql, sql_locks, tower, uncontended, waiters,
};

pub(crate) fn all() -> Vec<Box<dyn Workload>> {
    let mut all: Vec<Box<dyn Workload>> = Vec::new();
    for &tasks in uncontended::TASKS {
        all.push(Box::new(uncontended::Uncontended {
            tasks,
            is_apart: false,
        }));
    }
    for &tasks in uncontended::TASKS_APART {
        all.push(Box::new(uncontended::Uncontended {
            tasks,
            is_apart: true,
        }));
    }
    for cell in contended::Contended::ALL {
        all.push(Box::new(*cell));
    }
    for processes in [1, 4] {
        all.push(Box::new(passes::Passes { processes }));
    }
    all.push(Box::new(handoff::HandOff::ONE));
    for &delay in network::DELAYS {
        all.push(Box::new(network::Network { delay }));
    }
    all.push(Box::new(waiters::Waiters));
    all.push(Box::new(held::Held));
    all.push(Box::new(nodes::Alone));
    all.push(Box::new(nodes::Contenders));
    all.push(Box::new(nodes::Stopped));
    all.push(Box::new(kinds::Kinds::READERS));
    all.push(Box::new(kinds::Kinds::PERMITS));
    all.push(Box::new(growth::Keys));
    all.push(Box::new(growth::Held));
    all.push(Box::new(growth::Waiters));
    all.push(Box::new(growth::Masters));
    all.push(Box::new(day_later::DayLater));
    all.push(Box::new(in_process::InProcess));
    all.push(Box::new(nested::Nested));
    all.push(Box::new(overhead::Macro));
    all.push(Box::new(tower::Tower { on_redis: false }));
    all.push(Box::new(tower::Tower { on_redis: true }));
    all.push(Box::new(sql::Sql::Postgres));
    all.push(Box::new(sql::Sql::MariaDb));
    all.push(Box::new(sql::Sql::Sqlite));
    all.push(Box::new(sql_locks::SqlLocks::Postgres));
    all.push(Box::new(sql_locks::SqlLocks::MariaDb));
    all.push(Box::new(sql_locks::SqlLocks::Sqlite));
    all
}
